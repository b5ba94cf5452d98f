import Foundation
import Observation
import ParlorClient

/// Connects keys and screens: it holds the current screen's controller, and passes keys to it.
///
/// No key waits for the network: requests run beside it, and the controller shows their outcome.
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
    /// Rooms that are left but not closed yet, by id. A person who returns in time gets the same controller.
    @ObservationIgnored private var leaving: [String: RoomController] = [:]
    @ObservationIgnored private var isOver = false
    @ObservationIgnored private var size: WindowSize

    /// Redraws so that "now" becomes "1 min", and a new window size is noticed.
    private static let refreshInterval: Duration = .milliseconds(500)
    /// The time at the end for the last requests and writes. Nobody waits longer for a shell.
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

    /// Runs until the person quits, or the keys end.
    func run(keys: AsyncStream<Key>) async {
        let connecting = Task { await client.start() }
        draw()
        let ticking = Task {
            // The end of `run` cancels it.
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
            // Rooms that are still being left are covered: this also stores and sends what was typed and read
            // there.
            await client.enterBackground()
            continuation.finish()
        }
        let waiting = Task {
            // The end of the work above cancels it.
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

    /// Draws the current state, and again once after it changes. Changes in one turn are drawn together. Each
    /// call schedules the next, so only one waits for a change.
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

/// The surface for screens: a terminal.
@MainActor
protocol Display {
    var window: WindowSize { get }
    /// Shows lines from the top, each no wider than the window.
    ///
    /// - Parameter cursor: its position, from 0; nil hides it.
    func show(_ lines: [String], cursor: (column: Int, row: Int)?)
    /// Notes that the shown content is gone.
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
