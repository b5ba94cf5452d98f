import Foundation
import Testing

@testable import ParlorChat

@Suite("Screens")
struct ScreenTests {
    private let size = WindowSize(columns: 40, rows: 8)

    private func plain(_ frame: Frame) -> [String] {
        frame.lines.map { $0.replacing(#/\e\[[0-9]*m|\e\]8;;[^\e]*\e\\/#, with: "") }
    }

    private func rooms(_ count: Int, selection: Int) -> ListScreen {
        ListScreen(
            title: "Rooms", status: "connected",
            rows: (0..<count).map { ListScreen.Row(title: "Room \($0)", badge: $0 == 1 ? "3" : "", time: "now") },
            selection: selection, emptyText: "No rooms yet.", help: "Enter opens")
    }

    @Test("a frame has as many lines as the window, and every line fits", arguments: [0, 1, 3, 50])
    func fits(count: Int) {
        for selection in stride(from: 0, to: max(1, count), by: 7) {
            let lines = plain(rooms(count, selection: selection).frame(in: size))
            #expect(lines.count == 8)
            #expect(lines.allSatisfy { $0.columns <= 40 })
            if count > 0 { #expect(lines.contains { $0.hasPrefix("› Room \(selection) ") }) }
        }
    }

    @Test("unseen counts and times are at the right edge")
    func badges() {
        let lines = plain(rooms(3, selection: 0).frame(in: size))
        #expect(lines[2].hasPrefix("  Room 1 ") && lines[2].hasSuffix("(3)  now"))
        #expect(plain(rooms(0, selection: 0).frame(in: size))[1].hasPrefix("  No rooms yet."))
    }

    @Test("other badges are beside the counts, and leave room for the title and the time")
    func otherBadges() {
        var screen = rooms(3, selection: 0)
        screen.rows[1].others = "polls 2"
        screen.rows[2].others = "\u{1b}[31mdice 1, " + String(repeating: "long", count: 20)
        let lines = plain(screen.frame(in: size))
        #expect(lines[2].hasPrefix("  Room 1 ") && lines[2].hasSuffix("(3)  polls 2  now"))
        #expect(lines[3].hasPrefix("  Room 2 ") && lines[3].hasSuffix("…  now"))
        #expect(lines.allSatisfy { $0.columns <= 40 && !$0.contains("\u{1b}") })
    }

    @Test("a warning takes the place of other badges, and no line is wider than the window", arguments: [20, 40, 80])
    func warning(columns: Int) {
        var screen = rooms(2, selection: 0)
        for row in 0..<2 {
            screen.rows[row].warning = "! not sent"
            (screen.rows[row].badge, screen.rows[row].others) = ("99+", "polls 12, dice 99+")
            (screen.rows[row].activity, screen.rows[row].time) = ("✉", "12/17/2024")
        }
        let lines = plain(screen.frame(in: WindowSize(columns: columns, rows: 8)))
        #expect(lines.allSatisfy { $0.columns <= columns && !$0.contains("polls") })
        if columns > 20 {
            #expect(lines[2].hasPrefix("  Room") && lines[2].hasSuffix("(99+)  ! not sent  ✉ 12/17/2024"))
        }
    }

    @Test(
        "what tells rows apart, and the last activity, are visible in 80 columns beside long titles and badges",
        arguments: ["", "! not sent"])
    func distinction(warning: String) {
        let row = ListScreen.Row(
            title: String(repeating: "Bartholomew & ", count: 6), distinction: "created 12/17/2024, 10:45 AM",
            detail: "ben, 12 elements", badge: "99+", warning: warning, others: "polls 12, dice 99+, stars 3",
            activity: "✉", time: "12/17/2024")
        var screen = rooms(1, selection: 0)
        screen.rows = [row]
        let lines = plain(screen.frame(in: WindowSize(columns: 80, rows: 24)))
        #expect(lines[1].hasPrefix("› Bartholo") && lines[1].contains("  created 12/17/2024, 10:45 AM "))
        let end = warning.isEmpty ? "…" : warning
        #expect(lines[1].hasSuffix("\(end)  ✉ 12/17/2024") && lines[1].columns == 80)
    }

    @Test("a question is on the last line, with the cursor after the answer")
    func question() {
        var answer = LineEditor()
        for character in "Plans" { answer.press(.character(character)) }
        var screen = rooms(1, selection: 0)
        screen.question = ("Name: ", answer)
        let frame = screen.frame(in: size)
        #expect(plain(frame).last == "Name: Plans")
        #expect(frame.cursor?.column == 11 && frame.cursor?.row == 7)
    }

    @Test("a line that is too long shows the part around the cursor")
    func longInput() {
        var editor = LineEditor()
        for character in String(repeating: "x", count: 100) + "end" { editor.press(.character(character)) }
        let (line, column) = InputLine(prompt: "> ", editor: editor).drawn(in: 20)
        #expect(line.hasSuffix("end") && column == 19)
        for _ in 0..<200 { editor.press(.left) }
        let start = InputLine(prompt: "> ", editor: editor).drawn(in: 20)
        #expect(start.column == 2 && start.line.hasSuffix("…"))
    }

    @Test("the newest messages are at the bottom, long ones wrap, and failed ones show the reason")
    func messages() {
        let entries = (0..<20).map {
            RoomScreen.Entry(
                author: "Ada", text: "Message \($0) " + String(repeating: "word ", count: 6), time: "09:45")
        }
        let failed = RoomScreen.Entry(
            author: "You", text: "no", time: "09:46", isMine: true, mark: "not sent: offline", hasFailed: true)
        var screen = RoomScreen(
            title: "Plans", status: "2 elements", entries: entries + [failed], typing: "Ben is typing…",
            input: LineEditor())
        let (frame, count, _) = screen.drawn(in: size)
        #expect(count == 3)
        var lines = plain(frame)
        #expect(lines.count == 8 && lines.allSatisfy { $0.columns <= 40 })
        #expect(lines[5] == "09:46  You: no  not sent: offline")
        #expect(lines[6].hasPrefix("Ben is typing…"))
        screen.entries.removeLast()
        lines = plain(screen.drawn(in: size).frame)
        #expect(lines[5].hasPrefix("            "))
        #expect(lines.contains { $0.contains("Message 19") })
    }

    @Test("each day's first message is below the day, and a message of which only the day is visible is not visible")
    func days() {
        let first = RoomScreen.Entry(day: "Yesterday", author: "Ada", text: "Night", time: "23:59")
        let second = RoomScreen.Entry(author: "Ada", text: "one two three", time: "23:59")
        let third = RoomScreen.Entry(day: "Today", author: "Ben", text: "Morning", time: "00:01")
        let screen = RoomScreen(
            title: "", status: "", entries: [first, second, third], typing: "", input: LineEditor())
        let lines = plain(screen.drawn(in: size).frame).map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(
            lines[1...5] == [
                "── Yesterday ──", "23:59  Ada: Night", "23:59  Ada: one two three", "── Today ──",
                "00:01  Ben: Morning",
            ])
        #expect(screen.lineCount(in: size) == 5)
        let small = WindowSize(columns: 40, rows: 6)
        let (_, count, below) = screen.drawn(in: small, scrolledBy: 1)
        #expect(count == 2 && below == 1)
    }

    @Test("a view stays in place if below it is a message of which only the day is visible")
    @MainActor func dayBelow() {
        struct Item: Identifiable { let id: Int }
        let screen = { (items: ArraySlice<Item>) in
            RoomScreen(
                title: "", status: "",
                entries: items.map { .init(day: $0.id == 4 ? "Today" : "", author: "Ada", text: "\($0.id)", time: "") },
                typing: "", input: LineEditor())
        }
        let small = WindowSize(columns: 40, rows: 6)
        let view = MessageView<[Item]>()
        var items = (0...4).map(Item.init)
        _ = view.scrollUp(by: 1, of: items, in: small, as: screen)
        let frame = view.frame(of: items, in: small, as: screen)
        #expect(plain(frame)[3].hasPrefix("── Today") && view.drawn?.map(\.id) == [2, 3])
        items.append(Item(id: 5))
        #expect(view.frame(of: items, in: small, as: screen) == frame)
    }

    @Test("a day is today or yesterday by the calendar, or a date")
    func dayNames() throws {
        let calendar = Calendar.current
        let midnight = calendar.startOfDay(for: Date(timeIntervalSince1970: 1_734_428_700))
        func name(_ seconds: Double, now: Double) -> String {
            RoomScreen.Entry.name(
                ofDayOf: midnight.addingTimeInterval(seconds), now: midnight.addingTimeInterval(now))
        }
        #expect(name(0, now: 0) == "Today" && name(5, now: 86_000) == "Today" && name(86_000, now: 5) == "Today")
        #expect(name(-1, now: 0) == "Yesterday" && name(-86_000, now: 86_000) == "Yesterday")
        #expect(name(-90_000, now: 0).contains("2024"))
    }

    @Test("a web address is a link in each line that it is wrapped into, and sequences in a text are not")
    func links() throws {
        let address = "https://example.org/a/long/path/that/wraps"
        let evil = "\u{1b}]8;;https://evil.example\u{1b}\\x"
        let entry = RoomScreen.Entry(author: "Ada", text: "see (\(address)) \(evil)", time: "09:45", mark: "✓")
        let screen = RoomScreen(title: "", status: "", entries: [entry], typing: "", input: LineEditor())
        let lines = screen.drawn(in: size).frame.lines
        let links = lines.flatMap { $0.matches(of: #/\e\]8;;([^\e]+)\e\\([^\e]*)\e\]8;;\e\\/#) }
        let parts = links.filter { $0.output.1 == address[...] }.map { String($0.output.2) }
        #expect(parts.count == 2 && parts.joined() == address)
        // What is left of the sequence in the text is an address like any other.
        #expect(Set(links.map(\.output.1)) == [address[...], "https://evil.example"])
        #expect(plain(screen.drawn(in: size).frame).joined().contains("]8;;https://evil.example"))
    }

    @Test("a long notice wraps above the input, in at most a third of the window")
    func longNotice() {
        let entries = (0..<20).map { RoomScreen.Entry(author: "Ada", text: "Message \($0)", time: "09:45") }
        var screen = RoomScreen(
            title: "Plans", status: "", entries: entries, typing: "",
            notice: "/read  /note TEXT  /board  /edit N TEXT  /remove N", input: LineEditor())
        var lines = plain(screen.drawn(in: size).frame).map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(lines.count == 8 && lines[4].hasSuffix("Message 19") && lines[7] == ">")
        #expect(lines[5] == "/read  /note TEXT  /board  /edit N TEXT" && lines[6] == "/remove N")
        #expect(screen.lastOffset(in: size) == 16)
        screen.notice = String(repeating: "word ", count: 60)
        lines = plain(screen.drawn(in: size).frame)
        #expect(lines.count == 8 && lines[6].columns == 40 && lines[6].hasSuffix("…"))
    }

    @Test("names and sentences of the server are drawn without line breaks and control characters")
    func oneLine() {
        let name = "a\nb\r\nc\u{1b}[2J"
        let list = ListScreen(
            title: name, status: name,
            rows: [
                ListScreen.Row(kind: .heading, title: name),
                ListScreen.Row(title: name, detail: name, badge: "1", others: name, time: "now"),
            ], selection: 1, emptyText: "", help: "", question: (prompt: name, answer: LineEditor()))
        let empty = ListScreen(title: "", status: "", rows: [], selection: 0, emptyText: name, help: "")
        let entry = RoomScreen.Entry(author: name, text: "Hi", time: "09:45", mark: name)
        let room = RoomScreen(
            title: name, status: name, entries: [entry], typing: name, notice: "", input: LineEditor())
        let text = TextScreen(title: name, status: name, paragraphs: [], emptyText: name, help: "")
        let frames = [
            list.frame(in: size), empty.frame(in: size), room.drawn(in: size).frame, text.frame(in: size),
        ]
        for line in frames.flatMap(plain) {
            #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 }, "\(line.debugDescription)")
        }
    }

    @Test("a text wraps, and scrolls down to its last line")
    func text() {
        var screen = TextScreen(
            title: "Board", status: "9 elements",
            paragraphs: (1...9).map { "\($0) " + String(repeating: "word ", count: 9) }, emptyText: "", help: "Esc")
        #expect(plain(screen.frame(in: size))[1].hasPrefix("• 1 word"))
        #expect(screen.lastTop(in: size) == 12)
        screen.top = 100
        let lines = plain(screen.frame(in: size))
        #expect(lines.count == 8 && lines.allSatisfy { $0.columns <= 40 })
        #expect(lines[5].hasPrefix("• 9 word"))
    }
}
