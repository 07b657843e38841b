"""Settings of object stores: S3, Azure and whatever speaks their protocols."""

from dataclasses import dataclass
from datetime import timedelta

from indextables.config.setting import setting
from indextables.config.setting_parsers import (
    boolean,
    duration,
    natural_number,
    part_size,
    positive_integer,
    size,
    text,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    s3_endpoint: str | None = setting(
        "s3.endpoint",
        None,
        text,
        "The address of a store that speaks S3, such as `http://minio:9000`; AWS if not given.",
    )
    s3_region: str | None = setting("s3.region", None, text, "The region of the bucket.")
    s3_access_key: str | None = setting("s3.accessKey", None, text, "The name of an access key.", secret=True)
    s3_secret_key: str | None = setting("s3.secretKey", None, text, "The secret of the access key.", secret=True)
    s3_session_token: str | None = setting(
        "s3.sessionToken", None, text, "What temporary credentials have in addition.", secret=True
    )
    s3_path_style: bool = setting(
        "s3.pathStyleAccess",
        default=True,
        parse=boolean,
        doc="The bucket is in the path of a request, not in the name of the host.",
    )
    s3_streaming_threshold: int = setting(
        "s3.streamingThreshold", 100 * 1024**2, size, "A smaller file is sent in one request, in any object store."
    )
    s3_multipart_threshold: int = setting(
        "s3.multipartThreshold", 100 * 1024**2, size, "The same; the smaller of the two decides."
    )
    s3_part_size: int = setting(
        "s3.partSize", 64 * 1024**2, part_size, "A larger file is sent in parts of this size, in any object store."
    )
    s3_max_concurrency: int = setting(
        "s3.maxConcurrency", 4, positive_integer, "So many parts are sent at once, and are in memory."
    )
    azure_account_name: str | None = setting(
        "azure.accountName", None, text, "The storage account, where the location does not name it."
    )
    azure_account_key: str | None = setting("azure.accountKey", None, text, "A key of the account.", secret=True)
    azure_tenant_id: str | None = setting("azure.tenantId", None, text, "The directory of a service principal.")
    azure_client_id: str | None = setting("azure.clientId", None, text, "The application of a service principal.")
    azure_client_secret: str | None = setting(
        "azure.clientSecret", None, text, "The secret of a service principal.", secret=True
    )
    azure_sas_token: str | None = setting("azure.sasToken", None, text, "A shared access signature.", secret=True)
    azure_endpoint: str | None = setting(
        "azure.endpoint", None, text, "The address of the blob service, where it is not the usual one."
    )
    request_timeout: timedelta = setting(  # noqa: RUF009 - it is a dataclass field
        "store.requestTimeout", timedelta(minutes=2), duration, "A request to an object store may take so long."
    )
    max_retries: int = setting(
        "store.maxRetries",
        10,
        natural_number,
        "How often a request that an object store failed to answer is sent again.",
    )
    single_writer: bool = setting(
        "commit.unsafeSingleWriter",
        default=False,
        parse=boolean,
        doc="Writes to an object store that cannot create a file only if it is not there. Two writers at once lose data.",
    )
