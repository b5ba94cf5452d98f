"""The web client at /: the page and its files are served, and nothing else."""

import re
from http.client import HTTPConnection
from posixpath import dirname, join, normpath

import httpx
from parlor import ROOT

WEB = ROOT / "Clients/Web"
BUNDLE = "page/bundle.js"
POLICY = ("default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'")


def linked(page: str) -> list[str]:
    return re.findall(r'(?:href|src)="([^"]+)"', page)


def imported(module: str) -> list[str]:
    """Returns the modules that a module names, by import, export or import()."""
    return re.findall(r'(?:from|import)\s*\(?\s*"(\.[^"]+)"', module)


def all_files(http: httpx.Client) -> dict[str, httpx.Response]:
    """Returns every file that the page links, and the modules of its script."""
    links = linked(http.get("/").text)
    script = next(link for link in links if link.endswith(BUNDLE))
    wanted, files = ["/" + link for link in [*links, script.replace(BUNDLE, "page/main.js")]], {}
    while wanted:
        path = wanted.pop()
        if path in files:
            continue
        files[path] = http.get(path)
        assert files[path].status_code == 200, path
        if path.endswith(".js"):
            wanted += [normpath(join(dirname(path), name)) for name in imported(files[path].text)]
    return files


def test_every_file_that_the_page_leads_to_is_there_as_it_is_in_the_checkout(parlor):
    with httpx.Client(base_url=parlor.address) as http:
        files = all_files(http)
    assert len(files) > 40 and any(path.endswith("/parlor/parlor.js") for path in files)
    for path, answer in files.items():
        _, folder, version, name = path.split("/", 3)
        assert folder == "web" and len(version) == 16
        assert name == BUNDLE or answer.content == (WEB / name).read_bytes(), name
        assert answer.headers.get("content-encoding") == "gzip" or len(answer.content) < 200
        assert "immutable" in answer.headers["cache-control"]
        kind = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}[name.rsplit(".", 1)[1]]
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_page_is_asked_for_each_time_and_runs_nothing_but_its_files(parlor):
    with httpx.Client(base_url=parlor.address) as http:
        page = http.get("/")
        assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
        assert page.headers["cache-control"] == "no-cache"
        assert all(part in page.headers["content-security-policy"] for part in POLICY)
        assert "<style" not in page.text and not re.search(r"\son\w+=", page.text)
        assert all(link.startswith("web/") for link in linked(page.text))
        again = http.get("/", headers={"If-None-Match": page.headers["etag"]})
        assert again.status_code == 304 and not again.content
        plain = http.get("/", headers={"Accept-Encoding": "gzip;q=0"})
        assert "content-encoding" not in plain.headers and plain.text == page.text
        assert plain.headers["etag"] != page.headers["etag"] and plain.headers["vary"] == "Accept-Encoding"
        head = http.head("/")
        assert head.status_code == 200 and not head.content
        refused = http.post("/")
        assert refused.status_code == 405 and refused.headers["allow"] == "GET, HEAD"


def test_a_first_visit_asks_for_few_files_and_less_than_100_kilobytes(parlor):
    with httpx.Client(base_url=parlor.address) as http:
        answers = [http.get("/"), *(http.get("/" + link) for link in set(linked(http.get("/").text)))]
    assert len(answers) == 5, "the page, its icon, its looks, its theme, and one script"
    assert sum(int(answer.headers["content-length"]) for answer in answers) < 100 * 1024
    script = next(answer.text for answer in answers if str(answer.url).endswith(BUNDLE))
    assert not imported(script)
    assert script.count("\nconst $") > 40 and "// parlor/parlor.js\n" in script


def test_a_page_of_another_release_gets_its_files_for_this_once(parlor):
    with httpx.Client(base_url=parlor.address) as http:
        for link in set(linked(http.get("/").text)):
            _, version, name = link.split("/", 2)
            other = http.get(f"/web/{version[::-1]}/{name}")
            assert other.status_code == 200 and other.headers["cache-control"] == "no-cache"
            assert other.content == http.get("/" + link).content
            again = http.get(f"/web/{version[::-1]}/{name}", headers={"If-None-Match": other.headers["etag"]})
            assert again.status_code == 304


def test_nothing_but_the_page_is_served(parlor):
    with httpx.Client(base_url=parlor.address) as http:
        folder = "/" + dirname(next(link for link in linked(http.get("/").text) if link.endswith("parlor.css")))
        for path in (
            "/web/", folder, folder + "/", folder + "/dev/mock.js", folder + "/README.md", folder + "/index.html",
            folder + "/%2e%2e/Package.swift", folder + "//etc/passwd",
            folder.replace("/web/", "/web/x") + "/parlor.css", "/index.html", "/web",
        ):  # fmt: skip
            answer = http.get(path)
            assert answer.status_code == 404 and answer.json()["error"]["code"] == "route_not_found", path
    # httpx takes the dots out of a path; this sends them.
    raw = HTTPConnection(httpx.URL(parlor.address).netloc.decode(), timeout=10)
    raw.request("GET", folder + "/../../../Package.swift")
    answer = raw.getresponse()
    assert answer.status == 404 and b'"route_not_found"' in answer.read()
    raw.close()


def test_it_can_be_turned_off(start):
    parlor = start("one", "--web-client", "off")
    assert httpx.get(parlor.address + "/").status_code == 404
