import Foundation
import Observation
import RoomsClient

/// What runs between the keys and the screens: which place somebody is at, and what a key does there.
///
/// No key waits for the network: what is asked of it runs beside, and the place says what became of it.
@MainActor @Observable
final class ChatApp {
    enum Controller {
        case rooms(RoomsController)
        case room(RoomController)
    }

    private var controller: Controller
    @ObservationIgnored private let client: RoomsClient
    @ObservationIgnored private let status: StatusLine
    @ObservationIgnored private let display: any Display
    @ObservationIgnored private let clock: any ClientClock
    /// By room, those that are left and not closed yet: who comes back so soon is in the same.
    @ObservationIgnored private var leaving: [String: RoomController] = [:]
    @ObservationIgnored private var isOver = false
    @ObservationIgnored private var size: WindowSize

    /// So that "now" becomes "1 min" while nothing else happens, and a window's new size is seen.
    private static let refreshInterval: Duration = .milliseconds(500)
    /// So long the server has to hear of the end, and the disk to keep what is shown. Nobody waits longer for a shell.
    private static let shutdownGrace: Duration = .seconds(1)

    init(
        _ client: RoomsClient, _ status: StatusLine, on display: any Display, clock: any ClientClock = SystemClock()
    ) {
        self.client = client
        self.status = status
        self.display = display
        self.clock = clock
        size = display.window
        controller = .rooms(RoomsController(client, status))
    }

    /// Until somebody quits, or there are no more keys.
    func run(keys: AsyncStream<Key>) async {
        let connecting = Task { await client.start() }
        draw()
        let ticking = Task {
            // Cancelled at the end.
            while (try? await clock.sleep(for: Self.refreshInterval)) != nil { show(frame) }
        }
        for await key in keys {
            press(key)
            if isOver { break }
        }
        isOver = true
        ticking.cancel()
        connecting.cancel()
        await shutDown()
    }

    private func press(_ key: Key) {
        if key == .control("c") || key == .control("d") {
            isOver = true
            return
        }
        switch controller {
        case .rooms(let rooms):
            switch rooms.press(key) {
            case .stay: break
            case .quit: isOver = true
            case .open(let room):
                controller = .room(leaving.removeValue(forKey: room.id) ?? RoomController(room, client, status))
            }
        case .room(let room):
            guard room.press(key, in: size) else { return }
            controller = .rooms(RoomsController(client, status, selecting: room.roomID))
            leaving[room.roomID] = room
            Task { await close(room) }
        }
    }

    private func close(_ room: RoomController) async {
        guard leaving[room.roomID] === room else { return }
        leaving[room.roomID] = nil
        await room.close()
    }

    private func shutDown() async {
        let (end, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        Task {
            if case .room(let room) = controller { await room.close() }
            // Rooms that are being left are not waited for: this keeps and tells what was typed and read in them, too.
            await client.enterBackground()
            continuation.finish()
        }
        let waiting = Task {
            // Cancelled when all is said.
            try? await clock.sleep(for: Self.shutdownGrace)
            continuation.finish()
        }
        for await _ in end {}
        waiting.cancel()
    }

    // MARK: Drawing

    private var frame: Frame {
        switch controller {
        case .rooms(let rooms): rooms.screen.frame(in: size)
        case .room(let room): room.frame(in: size)
        }
    }

    /// Draws what is so now, and again once any of it has changed: what changes together is drawn together. Each calls the
    /// next, so that never more than one waits for a change.
    private func draw() {
        let frame = withObservationTracking {
            self.frame
        } onChange: {
            Task { @MainActor [weak self] in self?.draw() }
        }
        show(frame)
    }

    private func show(_ frame: Frame) {
        guard !isOver else { return }
        var frame = frame
        if display.window != size {
            size = display.window
            display.forget()
            frame = self.frame
        }
        display.show(frame.lines, cursor: frame.cursor)
        if case .room(let room) = controller { room.noteShown() }
    }
}

/// Where screens are shown: a terminal.
@MainActor
protocol Display {
    var window: WindowSize { get }
    /// Shows lines from the top, each no wider than the window.
    ///
    /// - Parameter cursor: where it is shown, both from 0; nil hides it.
    func show(_ lines: [String], cursor: (column: Int, row: Int)?)
    /// Nothing of what was shown is there any more.
    func forget()
}

extension Terminal: Display {
    var window: WindowSize { WindowSize(columns: size.columns, rows: size.rows) }
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
