/// Starts and stops a socket, in the order of the calls. Without this, a task with a higher priority could reach the
/// actor first.
@MainActor
final class SocketOrders {
    private let socket: RoomsSocket
    private let paths: any NetworkPaths
    /// The last call that starts or stops.
    private var latest = 0
    /// The last start or stop. The next one waits for it.
    private var last: Task<Void, Never>?
    private var watching: Task<Void, Never>?

    init(_ socket: RoomsSocket, _ paths: any NetworkPaths) {
        self.socket = socket
        self.paths = paths
    }

    /// Notes a call that starts or stops. It supersedes all earlier ones.
    func begin() -> Int {
        latest += 1
        return latest
    }

    func isLatest(_ number: Int) -> Bool { number == latest }

    /// Runs a start or a stop after all earlier ones.
    func run(_ body: @escaping @Sendable (RoomsSocket) async -> Void) async {
        let task = Task { [socket, last] in
            await last?.value
            await body(socket)
        }
        last = task
        await task.value
    }

    /// Reconnects at once when a better network is available, without a pause and before a dead connection is noticed.
    func watchPaths() {
        guard watching == nil else { return }
        watching = Task { [weak socket, paths] in
            for await _ in paths.improvements() {
                guard let socket, !Task.isCancelled else { return }
                await socket.useBetterNetwork()
            }
        }
    }

    func endWatching() { watching?.cancel() }

    deinit { watching?.cancel() }
}
