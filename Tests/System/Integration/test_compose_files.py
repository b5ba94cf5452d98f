"""The compose files keep their promises; checked without an engine. deploy/compose-test tries them on one."""

import re

from parlor import PROGRAMS, ROOT, SERVICES

FILES = ["docker-compose.yml", "docker-compose.override.yml", "deploy/compose.balanced.yml", "deploy/compose.cluster.yml"]
TEXTS = {file: (ROOT / file).read_text() for file in FILES}


def blocks(text: str, indent: str = "  ") -> dict[str, str]:
    """Returns the lines under each name at one indentation."""
    return dict(re.findall(rf"^{indent}([a-z-]+):[^\n]*\n((?:{indent}  [^\n]*\n|\n)*)", text, re.MULTILINE))


def services(text: str) -> dict[str, str]:
    found = re.search(r"^services:\n((?:  .*\n|\n)*)", text, re.MULTILINE)
    return blocks(found[1]) if found else {}


def test_each_container_has_limits_of_memory_and_processes():
    for file, text in TEXTS.items():
        templates = {f"*{name[2:]}": block for name, block in blocks(text, "").items() if name.startswith("x-")}
        for name, block in services(text).items():
            if "image:" not in block and "build:" not in block:
                continue  # it adds to what stands in another file
            whole = block + "".join(template for alias, template in templates.items() if alias in block)
            assert re.search(r"^ +mem_limit: ", whole, re.MULTILINE), (file, name)
            assert re.search(r"^ +pids_limit: ", whole, re.MULTILINE), (file, name)


def test_the_tools_of_the_cluster_count_again_as_the_owner():
    tools = services(TEXTS["deploy/compose.cluster.yml"])["tools"]
    assert "DATABASE_URL: postgres://parlor@postgres/parlor?passfile=/secrets/database.passfile" in tools


def test_a_container_sees_its_own_secrets_and_the_key_only_where_tokens_are_made_or_checked():
    for file, text in TEXTS.items():
        for name, block in services(text).items():
            mounted = set(re.findall(r"(secrets[a-z-]*):/secrets", block))
            assert mounted <= {"secrets" if name == "secrets" else f"secrets-{name}"}, (file, name)
            if "JWT_SECRET_FILE" in block:
                assert name in ("accounts", "gateway"), (file, name)
    assert all("JWT_SECRET_FILE" not in block for name, block in blocks(TEXTS[FILES[0]], "").items() if name != "services")
    for name in PROGRAMS:
        assert f"secrets-{name.removeprefix('parlor-')}:/secrets:ro" in services(TEXTS[FILES[0]])[name.removeprefix("parlor-")]


def test_whoever_reads_secrets_starts_after_they_are_made():
    waits = {}
    for text in TEXTS.values():
        templates = {f"*{name[2:]}": block for name, block in blocks(text, "").items() if name.startswith("x-")}
        for name, block in services(text).items():
            whole = block + "".join(template for alias, template in templates.items() if alias in block)
            for names in re.findall(r"^ +depends_on:\n((?: +[a-z]+: \{condition: \w+\}\n)+)", whole, re.MULTILINE):
                waits.setdefault(name, set()).update(re.findall(r"([a-z]+): \{", names))

    def waits_for_secrets(name: str) -> bool:
        return any(other == "secrets" or waits_for_secrets(other) for other in waits.get(name, ()))

    readers = {name for text in TEXTS.values() for name, block in services(text).items() if f"secrets-{name}:/secrets" in block}
    # `tools` is run by hand, beside the others.
    assert len(readers) > 10 and not [name for name in readers - {"tools"} if not waits_for_secrets(name)]


def test_each_program_has_a_container_and_each_service_its_volumes():
    containers = services(TEXTS["docker-compose.yml"])
    for name in PROGRAMS:
        part = name.removeprefix("parlor-")
        assert f"target: program, args: {{PROGRAM: {name}}}}}" in containers[part], part
        assert f"- secrets-{part}:/for/{part}\n" in containers["secrets"], part
        if name in SERVICES:
            assert f"- {part}:/volumes/{part}\n" in containers["tools"], part
