"""Where the keys of requests are; never the keys themselves."""

from pydantic import model_validator

from inferwatch.config.fields import HeaderName, SecretFile, SecretVariable
from inferwatch.strict_yaml import Strict


class SecretHeader(Strict):
    """A header whose value is a secret from a file or an environment variable."""

    name: HeaderName
    file: SecretFile | None = None
    env: SecretVariable | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "SecretHeader":
        if (self.file is None) == (self.env is None):
            raise ValueError("give the value's source: either file: or env:")
        return self


class Auth(Strict):
    """Where the key is; never the key itself."""

    bearer_file: SecretFile | None = None
    bearer_env: SecretVariable | None = None
    header: SecretHeader | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "Auth":
        if sum(way is not None for way in (self.bearer_file, self.bearer_env, self.header)) != 1:
            raise ValueError("give exactly one of bearer_file, bearer_env and header")
        return self
