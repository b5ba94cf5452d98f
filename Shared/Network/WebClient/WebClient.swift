import CCurl
import Glibc
import Synchronization
import Workers

/// Sends requests to a few servers, many at once over one connection each where the server speaks HTTP/2, on one thread of its
/// own: libcurl's multi interface. No call blocks.
public final class WebClient: Sendable {
    public struct Configuration: Sendable {
        /// Certificates in PEM that are believed in place of the system's.
        public var authorityFile: String?
        /// Connections to one server.
        public var maxConnections = 1
        public var connectTimeout: Duration = .seconds(5)
        /// Requests that are under way or wait; the next one is refused.
        public var maxRequests = 4096

        public init() {}
    }

    /// An answer of more than this is a failure: what is asked here is answered in a line.
    static let maxBody = 64 * 1024
    static let maxHeaders = 64 * 1024
    /// Requests that libcurl has in hand; others wait here. It looks at all of them whenever anything happens to one: with a
    /// thousand, that was three quarters of a core at 660 requests a second. Enough for 2,000 a second at 50 ms each.
    public static let maxInFlight = 100
    /// Requests that are begun before others have a turn at the core: each takes a tenth of a millisecond.
    private static let maxBegun = 2
    /// The longest sleep of the thread while it has nothing to do; anything else wakes it.
    private static let longestWait: Int32 = 1000
    /// After a wait that failed at once, so that the thread does not spin.
    private static let failureWait: UInt32 = 100_000

    private struct State {
        var waiting: [Transfer] = []
        var count = 0
        var isClosed = false
        /// The multi handle that is to be woken; nil until the thread runs and after its end.
        nonisolated(unsafe) var multi: UnsafeMutableRawPointer?
    }

    private let configuration: Configuration
    private let state = Mutex(State())
    /// In the background: what is sent here is waited for by nobody.
    private let thread = WorkerThreads(priority: .background)

    /// - Throws: if there is no libcurl.
    public init(_ configuration: Configuration = Configuration()) throws(MissingLibrary) {
        try Self.library.get()
        self.configuration = configuration
        thread.start(named: "curl") { [self] in run() }
    }

    /// Once in a process, before any other call.
    private static let library: Result<Void, MissingLibrary> = {
        if let reason = load_libcurl() {
            return .failure(MissingLibrary("libcurl is needed: \(String(cString: reason))"))
        }
        _ = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        return .success(())
    }()

    /// Sends, and waits for the answer. Cancelling the caller does not take the request back.
    public func send(_ request: WebRequest) async -> Result<WebResponse, WebFailure> {
        await withCheckedContinuation { continuation in
            enqueue(Transfer(request) { continuation.resume(returning: $0) })
        }
    }

    /// Refuses what comes from now on, ends what is under way as `closed`, and returns when the thread has ended.
    public func close() async {
        state.withLock { state in
            state.isClosed = true
            // Under the lock: the thread takes the handle out under it before it lets go of it. libcurl allows this call alone
            // from another thread.
            if let multi = state.multi { curl_multi_wakeup(multi) }
        }
        await thread.ended()
    }

    private func enqueue(_ transfer: Transfer) {
        let refusal: WebFailure? = state.withLock { state in
            guard !state.isClosed else { return .closed }
            guard state.count < configuration.maxRequests else { return .busy }
            state.count += 1
            state.waiting.append(transfer)
            if state.waiting.count == 1, let multi = state.multi { curl_multi_wakeup(multi) }
            return nil
        }
        if let refusal { transfer.complete(.failure(refusal)) }
    }

    // MARK: On the thread

    private func run() {
        while true {
            var connections = Connections(configuration)
            state.withLock { $0.multi = connections.multi }
            while !connections.isSilent {
                let room = Self.maxInFlight - connections.count
                let (arrived, isClosed) = state.withLock { state in
                    let count = state.isClosed ? state.waiting.count : min(room, state.waiting.count, Self.maxBegun)
                    let arrived = Array(state.waiting.prefix(count))
                    state.waiting.removeFirst(count)
                    return (arrived, state.isClosed)
                }
                if isClosed {
                    for transfer in arrived { transfer.complete(.failure(.closed)) }
                    state.withLock { $0.multi = nil }
                    return connections.close(.closed)
                }
                var ended = 0
                for transfer in arrived where !connections.start(transfer) { ended += 1 }
                ended += connections.perform()
                if ended > 0 { state.withLock { $0.count -= ended } }
                ThreadPriority.giveWay()
                // There may be room for those that wait, or more to begin with.
                connections.wait(atMost: ended > 0 || arrived.count == Self.maxBegun ? 0 : Self.longestWait)
            }
            // Nothing came from a server for as long as a request may take: its connection is dead, whatever TCP believes, and
            // requests would go on to be sent into it.
            state.withLock { state in
                state.multi = nil
                state.count -= connections.count
            }
            connections.close(.timeout)
        }
    }

    /// The connections of one multi handle and what is under way on them.
    private struct Connections {
        let multi: UnsafeMutableRawPointer
        private let configuration: Configuration
        private var inFlight: [UnsafeMutableRawPointer: Transfer] = [:]
        private var idle: [UnsafeMutableRawPointer] = []
        private var lastAnswer = ContinuousClock.now
        private(set) var isSilent = false

        var count: Int { inFlight.count }

        init(_ configuration: Configuration) {
            guard let multi = curl_multi_init() else { preconditionFailure("no memory for libcurl") }
            self.multi = multi
            self.configuration = configuration
            curl_multi_set_number(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maxConnections)
            curl_multi_set_number(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, WebClient.maxInFlight)
        }

        /// - Returns: false if it has ended with that.
        mutating func start(_ transfer: Transfer) -> Bool {
            guard !transfer.isOverdue else {
                transfer.complete(.failure(.busy))
                return false
            }
            guard let handle = idle.popLast() ?? curl_easy_init() else { preconditionFailure("no memory for libcurl") }
            transfer.prepare(handle, configuration)
            let result = curl_multi_add_handle(multi, handle)
            guard result == CURLM_OK else {
                transfer.complete(.failure(.connection(String(cString: curl_multi_strerror(result)))))
                transfer.release(handle)
                curl_easy_cleanup(handle)
                return false
            }
            inFlight[handle] = transfer
            return true
        }

        /// Does what can be done without waiting.
        ///
        /// - Returns: how many transfers have ended.
        mutating func perform() -> Int {
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            var result = CURLE_OK
            var ended = 0
            while let handle = curl_multi_next_done(multi, &result) {
                guard let transfer = inFlight.removeValue(forKey: handle) else { continue }
                curl_multi_remove_handle(multi, handle)
                if result == CURLE_OPERATION_TIMEDOUT {
                    isSilent = isSilent || lastAnswer < transfer.startedAt
                } else {
                    lastAnswer = .now
                }
                transfer.finish(handle, result)
                transfer.release(handle)
                idle.append(handle)
                ended += 1
            }
            return ended
        }

        func wait(atMost milliseconds: Int32) {
            if curl_multi_poll(multi, nil, 0, milliseconds, nil) != CURLM_OK { usleep(WebClient.failureWait) }
        }

        mutating func close(_ failure: WebFailure) {
            for (handle, transfer) in inFlight {
                curl_multi_remove_handle(multi, handle)
                transfer.complete(.failure(failure))
                transfer.release(handle)
                curl_easy_cleanup(handle)
            }
            for handle in idle { curl_easy_cleanup(handle) }
            curl_multi_cleanup(multi)
        }
    }
}
