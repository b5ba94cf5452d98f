import ParlorContracts
import ParlorServiceKit
import ParlorStorage
import Synchronization

/// Deletes the messages of deleted rooms in the background, some in each write, so that other writes run in between.
final class RoomCleaner: Sendable {
    private static let messagesInOneGo = 500
    /// The interval at which it looks for deleted rooms. Nobody can see their messages.
    private static let interval: Duration = .seconds(5)

    private let database: any Database
    private let log: Logger
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(database: any Database, log: Logger) {
        self.database = database
        self.log = log
    }

    func start() {
        let task = Task {
            while !Task.isCancelled {
                do {
                    while try await !clean() { try Task.checkCancellation() }
                } catch is CancellationError {
                    return
                } catch {
                    log.warning("the messages of a deleted room are still there", ["error": "\(error)"])
                }
                try? await Task.sleep(for: Self.interval)  // cancelled: the loop ends
            }
        }
        self.task.withLock { $0 = task }
    }

    func stop() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    /// - Returns: true if there is nothing left to delete.
    func clean() async throws -> Bool {
        guard let room = try await database.read({ try MembersStore($0).deletedRoom() }) else { return true }
        try await database.write(in: database.logs[0]) {
            _ = try MembersStore($0).deleteMessages(of: room, count: Self.messagesInOneGo)
        }
        return false
    }
}
