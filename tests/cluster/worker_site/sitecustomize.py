"""Python imports this when it starts; in the Python processes of a cluster's session, it installs the kill points."""

import os

if "INDEXTABLES_TEST_KILLER" in os.environ:
    from tests.cluster.kill_points import install

    install()
