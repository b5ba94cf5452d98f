import CParlorCurl
import Glibc
import ParlorWorkers
import Synchronization

/// Sends requests to a few servers, over one connection each if the server speaks HTTP/2, on one thread of
/// its own (libcurl's multi interface). No call blocks.
public final class WebClient: Sendable {
    public struct Configuration: Sendable {
        /// A file of certificates in PEM that are trusted instead of the system's.
        public var authorityFile: String?
        /// The limit of connections to one server.
        public var maxConnections = 1
        public var connectTimeout: Duration = .seconds(5)
        /// The limit of requests that are in progress or wait; the next one is refused.
        public var maxRequests = 4096

        public init() {}
    }

    /// The limit of a response's body; a larger one is a failure. The responses that are expected here have
    /// one line.
    static let maxBody = 64 * 1024
    static let maxHeaders = 64 * 1024
    /// The limit of requests that libcurl performs at once; others wait here. libcurl looks at all of them on
    /// each event: with a thousand, that took three quarters of a core at 660 requests a second. The limit
    /// suffices for 2,000 a second at 50 ms each.
    public static let maxInFlight = 100
    /// The number of requests that are started before other threads get the core: each takes a tenth of a
    /// millisecond.
    private static let maxBegun = 2
    /// The longest sleep of the thread while it is idle; new requests wake it.
    private static let longestWait: Int32 = 1000
    /// The pause after a wait that failed at once, so that the thread does not spin.
    private static let failureWait: UInt32 = 100_000

    private struct State {
        var waiting: [Transfer] = []
        var count = 0
        var isClosed = false
        /// The multi handle to wake; nil until the thread runs and after its end.
        nonisolated(unsafe) var multi: UnsafeMutableRawPointer?
    }

    private let configuration: Configuration
    private let state = Mutex(State())
    /// The client's thread, at background priority, as no person waits for its requests.
    private let thread = WorkerThreads(priority: .background)

    /// Loads libcurl, and starts the client's thread.
    ///
    /// - Throws: `MissingLibrary` if libcurl cannot be loaded.
    public init(_ configuration: Configuration = Configuration()) throws(MissingLibrary) {
        try Self.library.get()
        self.configuration = configuration
        thread.start(named: "curl") { [self] in run() }
    }

    /// The loaded library. It is initialised once in a process, before any other call.
    private static let library: Result<Void, MissingLibrary> = {
        if let reason = load_libcurl() {
            return .failure(MissingLibrary("libcurl is needed: \(String(cString: reason))"))
        }
        _ = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        return .success(())
    }()

    /// Sends a request and waits for the response. Cancelling the caller does not cancel the request.
    public func send(_ request: WebRequest) async -> Result<WebResponse, WebFailure> {
        await withCheckedContinuation { continuation in
            enqueue(Transfer(request) { continuation.resume(returning: $0) })
        }
    }

    /// Refuses new requests, ends those in progress as `closed`, and returns when the thread has ended.
    public func close() async {
        state.withLock { state in
            state.isClosed = true
            // Call it under the lock: the thread clears the handle under the lock before it frees it. This is
            // the only call that libcurl allows from another thread.
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
                // There may be room for requests that wait, or more to start.
                connections.wait(atMost: ended > 0 || arrived.count == Self.maxBegun ? 0 : Self.longestWait)
            }
            // No server sent anything for as long as a request may take. The connection is dead, whatever TCP
            // reports, and later requests would be sent into it.
            state.withLock { state in
                state.multi = nil
                state.count -= connections.count
            }
            connections.close(.timeout)
        }
    }

    /// The connections of one multi handle and the transfers on them.
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

        /// - Returns: false if the transfer has failed at once.
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

        /// Performs the work that needs no waiting.
        ///
        /// - Returns: the number of transfers that have ended.
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
