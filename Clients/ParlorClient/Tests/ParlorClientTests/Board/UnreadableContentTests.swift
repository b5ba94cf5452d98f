import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Elements with content that the server keeps, but Foundation refuses.
@MainActor
@Suite("Board: unreadable content", .timeLimit(.minutes(1)))
struct UnreadableContentTests {
    private static let page = "GET /api/rooms/room/elements?limit=500"
    private let folder = TemporaryFolder()

    private static func element(_ id: String, _ content: String, version: String = "3") -> String {
        """
        {"id":"\(id)","roomId":"room","type":"note","content":\(content),"position":{"x":1,"y":2},"createdBy":"ben",
        "createdAt":"2024-12-17T09:45:00.123Z","version":\(version)}
        """
    }

    private static func page(_ elements: String...) -> ScriptedHTTP.Step {
        .answer(page, #"{"data":[\#(elements.joined(separator: ","))],"page":{"next":null}}"#)
    }

    private func decoded(_ json: String) throws -> Element {
        try ServerDecoder().decode(Element.self, from: Data(json.utf8))
    }

    @Test("members that Foundation refuses are left out, and the element says so, also from a cache")
    func leftOut() throws {
        let element = try decoded(Self.element("e", #"{"text":"Hi","n":1e400,"deep":[{"n":1e400}]}"#))
        #expect(element.content == ["text": .string("Hi")])
        #expect(!element.isContentWhole)
        #expect(try JSONDecoder().decode(Element.self, from: JSONEncoder().encode(element)) == element)
        #expect(try decoded(Self.element("e", #"{"text":"Hi"}"#)).isContentWhole)
        #expect(try decoded(Self.element("e", "1e400")).content == [:])
    }

    @Test("an event has an element with such content")
    func event() throws {
        let json = Self.element("e", #"{"n":1e400}"#)
        let event = RoomEvent.decode(name: "element:created", data: Data(#"{"element":\#(json)}"#.utf8))
        #expect(event == .elementCreated(try decoded(json)))
    }

    @Test("an element with such content does not hide the others; it can be moved and deleted, but not edited")
    func onBoard() async throws {
        let moved = #"{"data":\#(Self.element("odd", #"{"n":1e400}"#, version: "4"))}"#
        let http = ScriptedHTTP([
            Self.page(Self.element("a", #"{"text":"a"}"#), Self.element("odd", #"{"n":1e400}"#)),
            .answer("PATCH /api/rooms/room/elements/odd", moved),
            .answer("DELETE /api/rooms/room/elements/odd", "", status: 204),
        ])
        let board = Board(
            roomID: "room", ownID: "ada", isBehind: false, server: RoomsAPI(transport: http, tokens: ListedTokens()),
            files: BoardFiles(files: RoomFiles(folder: folder.url)), clock: TestClock())
        board.noteOpened()
        await lookUntil { !board.isLoading }
        #expect(board.items.map(\.id) == ["a", "odd"])
        #expect(board.isVerified && board.failure == nil)
        board.edit("odd", content: ["text": .string("new")])
        #expect(board.unsentCount == 0)
        board.move("odd", to: .init(x: 5, y: 6))
        await board.keepAll()
        await lookUntil { board.items.last?.element.version == 4 && board.unsentCount == 0 }
        board.delete("odd")
        await lookUntil { board.items.map(\.id) == ["a"] && board.unsentCount == 0 }
        #expect(await http.missing == [])
    }

    @Test("a version from outside can be counted up and down", arguments: [Int.min, Int.max])
    func boundedVersion(_ version: Int) async throws {
        #expect(try decoded(Self.element("e", "{}", version: "\(version)")).version == version.asCount)
        // As an earlier version of the library may have stored it.
        let changes = folder.url.appending(path: "changes", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: changes, withIntermediateDirectories: true)
        let stored = #"{"edit":{"content":{},"version":\#(version)}}"#
        let items = #"[{"id":1,"elementID":"e","change":\#(stored)}]"#
        let file = #"{"format":1,"roomID":"room","items":\#(items)}"#
        try Data(file.utf8).write(to: changes.appending(path: "room.json"))
        let kept = try await BoardFiles(files: RoomFiles(folder: folder.url)).read("room")
        #expect(kept.operations.map(\.change) == [.edit(content: [:], version: version.asCount)])
        #expect(kept.setAside == nil)
    }
}
