import Foundation
import Observation
import RoomsClient

/// What runs between the keys and the screens: which place somebody is at, and what a key does there.
@MainActor
final class ChatApp {
    enum Place {
        case rooms(RoomsPlace)
        case room(RoomPlace)
    }

    private let client: RoomsClient
    private let terminal: Terminal
    private var place: Place
    private var isOver = false
    private var isDrawing = false
    private var size: WindowSize

    /// So that "now" becomes "1 min" while nothing else happens, and a window's new size is seen.
    private static let refreshInterval: Duration = .milliseconds(500)

    init(_ client: RoomsClient, on terminal: Terminal) {
        self.client = client
        self.terminal = terminal
        size = terminal.window
        place = .rooms(RoomsPlace(client))
    }

    /// Until somebody quits, or there are no more keys.
    func run(keys: AsyncStream<Key>) async {
        let connecting = Task { await client.start() }
        let ticking = Task {
            while !Task.isCancelled {
                draw()
                try? await Task.sleep(for: Self.refreshInterval)  // cancelled at the end
            }
        }
        for await key in keys {
            await press(key)
            if isOver { break }
            draw()
        }
        ticking.cancel()
        connecting.cancel()
        if case .room(let room) = place { await client.close(room.conversation) }
        await client.stop()
    }

    private func press(_ key: Key) async {
        if key == .control("c") || key == .control("d") {
            isOver = true
            return
        }
        switch place {
        case .rooms(let rooms):
            switch await rooms.press(key) {
            case .stay: break
            case .quit: isOver = true
            case .open(let room): place = .room(RoomPlace(room, client))
            }
        case .room(let room):
            guard await room.press(key, height: size.rows) else { return }
            await client.close(room.conversation)
            place = .rooms(RoomsPlace(client, selecting: room.roomID))
        }
    }

    /// Draws what is so now, and again as soon as any of it changes.
    private func draw() {
        let window = terminal.window
        if window != size {
            size = window
            terminal.forget()
        }
        let frame = withObservationTracking {
            switch place {
            case .rooms(let rooms): rooms.screen.frame(in: size)
            case .room(let room): room.screen.frame(in: size)
            }
        } onChange: {
            Task { @MainActor [weak self] in self?.drawSoon() }
        }
        terminal.show(frame.lines, cursor: frame.cursor)
    }

    /// Changes that come together are drawn together.
    private func drawSoon() {
        guard !isDrawing else { return }
        isDrawing = true
        Task {
            await Task.yield()
            isDrawing = false
            if !isOver { draw() }
        }
    }
}

extension Terminal {
    fileprivate var window: WindowSize { WindowSize(columns: size.columns, rows: size.rows) }
}

extension RoomsClient.Connection {
    /// For a line above what is shown.
    var text: String {
        switch self {
        case .idle, .connecting: "connecting…"
        case .connected: "connected"
        case .waiting(.offline): "offline"
        case .waiting(let failure), .ended(let failure): failure.text
        }
    }
}

extension ClientFailure {
    var text: String {
        switch self {
        case .offline: "The server cannot be reached."
        case .refused(let refusal): refusal.message
        case .unreadable: "The server's answer cannot be understood."
        case .signedOut: "signed out"
        }
    }
}
