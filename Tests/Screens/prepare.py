"""Writes what deploy/test-screens checks: `prepare.py OUT`.

OUT/Clients/iOS has the screens, with each `#Preview("…") {` as a function with the same body: Linux does not have Apple's macro.
OUT/Pages has the Swift code of the pages. Code that begins with a declaration stands as it is; statements get a function around them,
whose parameters are what the pages take for granted. Errors name the file and line of the original.

It also checks that Clients/iOS/Localizable.xcstrings has a German text for each text of the screens, and one in both
languages for each error code.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "Clients/ParlorClient/Sources"
PAGES = [*sorted((SOURCES / "ParlorClient/ParlorClient.docc").glob("*.md")), SOURCES / "ParlorClientTesting/README.md"]
DECLARATION = re.compile(r"(@main|import|(public |private |final )*(struct|class|enum|extension|protocol|func))\b")
PREVIEW = re.compile(r'#Preview\("[^"]*"\) \{')
PARAMETERS = (
    "account: ParlorAccount, client: RoomsClient, room: Room, conversation: Conversation, board: Board, "
    "response: UNNotificationResponse, source: UITableViewDiffableDataSource<Int, Room.ID>, "
    "username: UITextField, password: UITextField, problem: UILabel"
)
# Calls whose first literal is a text to translate. A text may be one of two: `Text(isNew ? "…" : "…")`.
CALLS = (
    "Text|Button|Label|TextField|SecureField|ContentUnavailableView|Picker|Toggle|LoadFailure|FailureLabel|line|"
    "NSLocalizedString|navigationTitle|alert|failureAlert|confirmationDialog|accessibilityLabel|accessibilityHint|accessibilityAction"
)
INSERTED = r"\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
LITERAL = rf'"((?:[^"\\\n]|{INSERTED})+)"'
TEXT = re.compile(rf'\b(?:{CALLS})\(\s*(?:named: )?(?:[^"()\n]*\? )?{LITERAL}(?: : {LITERAL})?')


def copy_screens(out):
    count = 0
    for file in sorted((ROOT / "Clients/iOS").glob("**/*.swift")):
        def function(_):
            nonlocal count
            count += 1
            return f"@MainActor @ViewBuilder private func preview{count}() -> some View {{"

        text = PREVIEW.sub(function, file.read_text())
        if "#Preview" in text:
            sys.exit(f"{file}: a preview is not of the form #Preview(\"…\") {{")
        copy = out / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
    return count


def code_blocks(page):
    """Yields, for each block of Swift, the number of its first line of code, and the code."""
    lines = page.read_text().splitlines()
    start = None
    for number, line in enumerate(lines, 1):
        if start is None and line == "```swift":
            start = number + 1
        elif start is not None and line == "```":
            yield start, "\n".join(lines[start - 1 : number - 1])
            start = None


def write_pages(out):
    count = 0
    (out / "Pages").mkdir()
    for page in PAGES:
        for line, code in code_blocks(page):
            count += 1
            location = f'#sourceLocation(file: "{page.relative_to(ROOT)}", line: {line})'
            if DECLARATION.match(code):
                text = f"{location}\n{code}\n"
            else:
                head = "import ParlorClient\nimport ParlorClientTesting\nimport UIKit\nimport UserNotifications\n"
                text = f"{head}@MainActor func block{count}({PARAMETERS}) async throws {{\n{location}\n{code}\n}}\n"
            (out / "Pages" / f"Block{count}.swift").write_text(text)
    return count


def pattern(text):
    """Returns a text with `%` for each value in it, whatever its type."""
    return re.sub(rf"{INSERTED}|%@|%lld", "%", text)


def texts(entry, language):
    """Returns the texts of a catalogue's entry in a language: one, or one for each plural form."""
    found = entry.get("localizations", {}).get(language, {})
    forms = found.get("variations", {}).get("plural", {"other": found})
    return [form.get("stringUnit", {}).get("value", "") for form in forms.values()]


def check_catalogue():
    entries = json.loads((ROOT / "Clients/iOS/Localizable.xcstrings").read_text())["strings"]
    known = {pattern(key): entry for key, entry in entries.items()}
    wrong = []
    for file in sorted((ROOT / "Clients/iOS").glob("**/*.swift")):
        for match in TEXT.finditer(file.read_text()):
            missing = (text for text in match.groups() if text and pattern(text) not in known)
            wrong += [f"{file.name}: no text for {text!r}" for text in missing]
    for key, entry in entries.items():
        languages = ["de", "en"] if key.startswith("error.") else ["de"] if entry.get("shouldTranslate", True) else []
        for text in (text for language in languages for text in texts(entry, language)):
            if not text or (not key.startswith("error.") and pattern(text).count("%") != pattern(key).count("%")):
                wrong.append(f"{key!r} is {text!r}")
    rows = re.findall(r"^\| [45]\d\d \|([^|]*)\|", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    codes = re.findall(r"`([a-z_]+)`", "".join(rows))
    wrong += [f"no text for the code {code}" for code in codes if f"error.{code}" not in entries]
    if wrong or len(codes) < 10:
        sys.exit("\n".join(["Localizable.xcstrings:", *wrong]))
    return len(entries)


out = pathlib.Path(sys.argv[1])
count = check_catalogue()
previews, blocks = copy_screens(out), write_pages(out)
if previews == 0 or blocks == 0:
    sys.exit(f"{previews} previews and {blocks} blocks of code were found: this cannot be right")
print(f"{previews} previews, {blocks} blocks of code in {len(PAGES)} pages, {count} texts")
