"""How the tests of importers hand files in."""

import pytest

from netsim.errors import TraceError
from netsim.traces.importers import Policy, Settings, import_files

TROUBLES = set(Policy.__dataclass_fields__)


@pytest.fixture
def importing(tmp_path):
    """Import files of these contents, text or bytes by name; settings and policy by name."""

    def run(contents, format_name=None, **said):
        paths = []
        for name, content in contents.items():
            paths.append(tmp_path / name)
            data = content if isinstance(content, bytes) else content.encode()
            paths[-1].write_bytes(data)
        policy = Policy(**{key: said.pop(key) for key in set(said) & TROUBLES})
        return import_files(paths, format_name, Settings(policy=policy, **said))

    return run


@pytest.fixture
def refusal(tmp_path, importing):
    """How such an import is refused, without the path."""

    def run(contents, format_name=None, **said):
        with pytest.raises(TraceError) as caught:
            importing(contents, format_name, **said)
        return str(caught.value).replace(f"{tmp_path}/", "")

    return run
