import Foundation
import Observation
import ParlorClient

/// Connects keys and screens: it holds the controller of the current screen, and passes keys to it.
///
/// No key waits for the network. Requests run in the background, and the controller shows their outcome.
@MainActor @Observable
final class ChatApp {
    enum Controller {
        case rooms(RoomsController)
        case room(RoomController)
        case person(PersonController)
    }

    private var controller: Controller
    /// Whether the list that was left last had people with their rooms.
    @ObservationIgnored private var wasGrouped = false
    @ObservationIgnored private let client: RoomsClient
    @ObservationIgnored private let status: StatusLine
    @ObservationIgnored private let display: any Display
    @ObservationIgnored private let clock: any ClientClock
    /// The controllers of rooms that the person has left, by room id, until they begin to close. A room that is opened
    /// again before that keeps its controller.
    @ObservationIgnored private var leaving: [String: RoomController] = [:]
    @ObservationIgnored private var isOver = false
    @ObservationIgnored private var size: WindowSize

    /// The time between redraws, which turn "now" into "1 min" and adapt to a new window size.
    private static let refreshInterval: Duration = .milliseconds(500)
    /// The time limit for the last requests and writes at the end. Nobody wants to wait longer for the shell.
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
            // `run` cancels this task when it ends.
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
            wasGrouped = rooms.isGrouped
            switch rooms.press(key) {
            case .stay: break
            case .quit: isOver = true
            case .openChat(let person): controller = .person(PersonController(person, client, status))
            case .open(let room):
                controller = .room(leaving.removeValue(forKey: room.id) ?? RoomController(room, client, status))
            }
        case .room(let room):
            guard room.press(key, in: size) else { return }
            showList(selecting: room.roomID)
            leaving[room.roomID] = room
            Task { await close(room) }
        case .person(let chat):
            guard chat.press(key, in: size) else { return }
            showList(selecting: chat.person.id)
            Task { await chat.close() }
        }
    }

    private func showList(selecting id: String) {
        controller = .rooms(RoomsController(client, status, selecting: id, isGrouped: wasGrouped))
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
            // This also stores and sends what was typed and read in rooms that are still open, or are being left.
            await client.enterBackground()
            continuation.finish()
        }
        let waiting = Task {
            // `try?`: the sleep is cancelled when the work above ends first.
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
        case .person(let chat): chat.frame(in: size)
        }
    }

    /// Draws the current state, and calls itself when that changes. Several changes at once are drawn together.
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
        switch controller {
        case .rooms: break
        case .room(let room): room.noteShown()
        case .person(let chat): chat.noteShown()
        }
    }
}

/// The surface on which screens are drawn, such as a terminal.
@MainActor
protocol Display {
    var window: WindowSize { get }
    /// Shows lines from the top. None may be wider than the window.
    ///
    /// - Parameter cursor: the position of the cursor, from 0; nil hides the cursor.
    func show(_ lines: [String], cursor: (column: Int, row: Int)?)
    /// Notes that the window no longer has the lines that were shown, so all are drawn again.
    func forget()
}

extension Terminal: Display {
    var window: WindowSize { WindowSize(columns: size.columns, rows: size.rows) }
}
