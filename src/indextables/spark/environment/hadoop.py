"""Settings of Hadoop's clients for S3 and Azure as settings of ours: a cluster with access to a store needs no others.

They are looked up in the session first, as `fs.s3a.access.key` and as `spark.hadoop.fs.s3a.access.key`, and then in Hadoop's
configuration on the driver. Only those for the store of the table are read. Settings of ours may be there, too.
"""

import re
from collections.abc import Callable, Mapping

from pyspark.sql import SparkSession

from indextables.config import PREFIX, credential_stores
from indextables.spark.catalyst.hadoop_configuration import (
    cluster_setting,
    hadoop_configuration,
    hadoop_settings_like,
)
from indextables.spark.environment.hadoop_azure import azure_credentials_from_hadoop
from indextables.spark.environment.hadoop_s3 import s3_credentials_from_hadoop, s3_endpoint_from_hadoop
from indextables.spark.environment.hadoop_settings import HadoopSettings
from indextables.storage import Location

_OF_CLUSTER = "spark.hadoop."
_LIKE_OURS = r"(?i)^(spark\.)?in\w*\."  # misspelled ones too
_S3, _AZURE = "fs.s3a.", "fs.azure."
_PREFIXES = {"s3": _S3, "s3a": _S3, "abfs": _AZURE, "abfss": _AZURE, "az": _AZURE}


def from_hadoop(
    spark: SparkSession, session: Mapping[str, str], location: Location, ours: Mapping[str, str]
) -> dict[str, str]:
    """The settings that Hadoop's clients have for a location; no credentials, if there are any among `ours`."""
    prefix = _PREFIXES.get(location.scheme)
    if prefix is None:
        return {}
    hadoop = HadoopSettings(_sources(spark, session, prefix))
    if prefix == _AZURE:
        account = next((v for key, v in ours.items() if key.lower().removeprefix(PREFIX) == "azure.accountname"), None)
        return {} if "azure" in credential_stores(ours) else azure_credentials_from_hadoop(hadoop, location, account)
    credentials = {} if "s3" in credential_stores(ours) else s3_credentials_from_hadoop(hadoop, location.container)
    return {**s3_endpoint_from_hadoop(hadoop, location.container), **credentials}


def ours_in_hadoop(spark: SparkSession, session: Mapping[str, str]) -> dict[str, str]:
    """The settings of ours, and what looks like them, that Hadoop's configuration has, and the session for it."""
    configured = hadoop_settings_like(spark, _LIKE_OURS)
    given = {key.removeprefix(_OF_CLUSTER): v for key, v in session.items() if key.startswith(_OF_CLUSTER)}
    long = {key: value for key, value in given.items() if re.match(_LIKE_OURS, key)}
    return {**configured, **set_in_session(long, configured, lambda key: cluster_setting(spark, _OF_CLUSTER + key))}


def _sources(spark: SparkSession, session: Mapping[str, str], prefix: str) -> tuple[Mapping[str, str], ...]:
    configured = hadoop_configuration(spark, prefix)
    own = {key: value for key, value in session.items() if key.startswith(prefix)}
    long = {key.removeprefix(_OF_CLUSTER): v for key, v in session.items() if key.startswith(_OF_CLUSTER + prefix)}
    return own, set_in_session(long, configured, lambda key: cluster_setting(spark, _OF_CLUSTER + key)), configured


def set_in_session(
    session: Mapping[str, str], configured: Mapping[str, str], cluster: Callable[[str], str]
) -> dict[str, str]:
    """The `spark.hadoop.` settings of a session, if it has set any of them.

    A session also has those of the cluster, which are in Hadoop's configuration unless a program has set others there.

    >>> set_in_session({"a": "old"}, {"a": "new"}, {"a": "old"}.get), set_in_session({"a": "x"}, {"a": "x"}, {}.get)
    ({}, {})
    >>> set_in_session({"a": "old", "b": "mine"}, {"a": "old"}, {"a": "old"}.get)
    {'a': 'old', 'b': 'mine'}
    """
    others = {key for key, value in session.items() if configured.get(key) != value}
    stale = {key for key in others if cluster(key) == session[key]}
    return {key: value for key, value in session.items() if key not in stale} if others - stale else {}
