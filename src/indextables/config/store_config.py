"""Settings of object stores: S3, Azure and whatever speaks their protocols."""

from dataclasses import dataclass
from datetime import timedelta

from indextables.config.setting import (
    boolean,
    duration,
    https_address,
    natural_number,
    one_of,
    part_size,
    positive_integer,
    setting,
    size,
    text,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    s3_endpoint: str | None = setting(
        "s3.endpoint",
        None,
        text,
        "The endpoint of an S3-compatible store, such as `http://minio:9000`; AWS by default.",
    )
    s3_region: str | None = setting("s3.region", None, text, "The region of the bucket.")
    s3_access_key: str | None = setting("s3.accessKey", None, text, "The access key ID.", secret=True, credentials="s3")
    s3_secret_key: str | None = setting(
        "s3.secretKey", None, text, "The secret access key.", secret=True, credentials="s3"
    )
    s3_session_token: str | None = setting(
        "s3.sessionToken", None, text, "The session token of temporary credentials.", secret=True, credentials="s3"
    )
    s3_credential_type: str | None = setting(
        "s3.credentialType",
        None,
        one_of("keys", "anonymous", "environment"),
        "Which credentials are used: `keys` (those of the settings), `anonymous` (requests are not signed) or "
        "`environment` (those of the environment or the machine). By default the keys, if there are any.",
        credentials="s3",
    )
    s3_path_style: bool = setting(
        "s3.pathStyleAccess",
        default=True,
        parse=boolean,
        doc="Whether the bucket is in the path of a request (path-style), not in the host name.",
    )
    s3_streaming_threshold: int = setting(
        "s3.streamingThreshold",
        100 * 1024**2,
        size,
        "Files below this size are uploaded in one request, in any object store.",
    )
    s3_multipart_threshold: int = setting(
        "s3.multipartThreshold", 100 * 1024**2, size, "The same; the smaller of the two applies."
    )
    s3_part_size: int = setting(
        "s3.partSize", 64 * 1024**2, part_size, "The part size of multipart uploads, in any object store."
    )
    s3_max_concurrency: int = setting(
        "s3.maxConcurrency", 4, positive_integer, "How many parts are uploaded in parallel; they are held in memory."
    )
    azure_account_name: str | None = setting(
        "azure.accountName", None, text, "The storage account, if the location does not name it."
    )
    azure_account_key: str | None = setting(
        "azure.accountKey", None, text, "The account key.", secret=True, credentials="azure"
    )
    azure_tenant_id: str | None = setting(
        "azure.tenantId", None, text, "The tenant ID of a service principal.", credentials="azure"
    )
    azure_client_id: str | None = setting(
        "azure.clientId",
        None,
        text,
        "The client ID of a service principal, or of a managed identity.",
        credentials="azure",
    )
    azure_client_secret: str | None = setting(
        "azure.clientSecret", None, text, "The client secret of a service principal.", secret=True, credentials="azure"
    )
    azure_sas_token: str | None = setting(
        "azure.sasToken", None, text, "A SAS token.", secret=True, credentials="azure"
    )
    azure_federated_token_file: str | None = setting(
        "azure.federatedTokenFile",
        None,
        text,
        "The file with the token of a workload identity, on every machine.",
        credentials="azure",
    )
    azure_credential_type: str | None = setting(
        "azure.credentialType",
        None,
        one_of("accountKey", "clientSecret", "sasToken", "workloadIdentity", "managedIdentity", "environment"),
        "Which credentials are used: `accountKey`, `clientSecret`, `sasToken`, `workloadIdentity`, `managedIdentity` or "
        "`environment` (those of the environment or the machine). By default the first of these that the settings have.",
        credentials="azure",
    )
    azure_authority_host: str | None = setting(
        "azure.authorityHost",
        None,
        https_address,
        "Where service principals and workload identities get their tokens; `https://login.microsoftonline.com` by default.",
    )
    azure_msi_endpoint: str | None = setting(
        "azure.msiEndpoint",
        None,
        text,
        "Where managed identities get their tokens; the machine's own service by default.",
    )
    azure_endpoint: str | None = setting(
        "azure.endpoint", None, text, "The endpoint of the blob service, if it is not the default one."
    )
    ca_certificates: str | None = setting(
        "store.caCertificates",
        None,
        text,
        "A PEM file with certificate authorities to trust besides those of the system, on every machine.",
    )
    request_timeout: timedelta = setting(  # noqa: RUF009 - it is a dataclass field
        "store.requestTimeout", timedelta(minutes=2), duration, "The timeout of a request to an object store."
    )
    max_retries: int = setting(
        "store.maxRetries",
        10,
        natural_number,
        "How often a failed request to an object store is retried.",
    )
    single_writer: bool = setting(
        "commit.unsafeSingleWriter",
        default=False,
        parse=boolean,
        doc="Allows writes to an object store without conditional PUTs (put-if-absent). Concurrent writers lose data.",
    )
