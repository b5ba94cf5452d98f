import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ParlorChat

/// Ada's parlor-chat on a scripted server. The test presses her keys and reads her screen.
@MainActor
final class ChatHarness {
    let clock = TestClock()
    let server: ScriptedServer
    let device: ScriptedDevice
    let (ada, ben): (Person, Person)
    let roomID: String
    let display = PaperDisplay()
    let client: RoomsClient
    private let folder = TemporaryFolder()
    private let keys: AsyncStream<Key>.Continuation
    private let running: Task<Void, Never>

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Plans")
        device = server.makeDevice()
        client = device.makeClient(of: ada, folder: folder.url)
        let stream: AsyncStream<Key>
        (stream, keys) = AsyncStream.makeStream(of: Key.self, bufferingPolicy: .unbounded)  // a test has few keys
        let app = ChatApp(client, StatusLine(client), on: display, clock: clock)
        running = Task { await app.run(keys: stream) }
    }

    func press(_ pressed: Key...) { for key in pressed { keys.yield(key) } }

    func write(_ text: String) {
        for character in text { keys.yield(.character(character)) }
        keys.yield(.enter)
    }

    /// Waits until the screen shows something. The clock does not advance meanwhile.
    func untilShown(_ isShown: @escaping @MainActor (String) -> Bool) async { await display.until(isShown) }

    func untilShown(_ text: String) async { await untilShown { $0.contains(text) } }

    /// Waits until the program has ended.
    func untilOver() async { await running.value }

    func quit() async {
        press(.control("c"))
        await untilOver()
    }
}

/// A display that keeps the last frame as plain text.
@MainActor
final class PaperDisplay: Display {
    let window = WindowSize(columns: 60, rows: 12)
    private(set) var text = ""
    private var watchers: [(isShown: @MainActor (String) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

    func show(_ lines: [String], cursor: (column: Int, row: Int)?) {
        text = lines.map { $0.replacing(#/\e\[[0-9]*m|\e\]8;;[^\e]*\e\\/#, with: "") }.joined(separator: "\n")
        for watcher in watchers where watcher.isShown(text) { watcher.continuation.resume() }
        watchers.removeAll { $0.isShown(text) }
    }

    func forget() { text = "" }

    func until(_ isShown: @escaping @MainActor (String) -> Bool) async {
        if isShown(text) { return }
        await withCheckedContinuation { watchers.append((isShown, $0)) }
    }
}
