import Foundation

#if !os(Linux)
    /// The platform's WebSocket.
    public struct WebSocketTransport: SocketTransport {
        private let session: URLSession

        /// - Parameter session: used for `https` and `wss` alike; its delegate may check
        ///   certificates.
        public init(session: URLSession = URLSession(configuration: .ephemeral)) { self.session = session }

        /// Returns at once. A failure to connect is reported by the first `receive`.
        public func connect(to url: URL) async throws -> any SocketConnection {
            let task = session.webSocketTask(with: url)
            task.maximumMessageSize = 4 << 20
            task.resume()
            return WebSocketTaskConnection(task: task)
        }
    }

    private struct WebSocketTaskConnection: SocketConnection {
        let task: URLSessionWebSocketTask

        func send(_ text: String) async throws {
            do {
                try await task.send(.string(text))
            } catch {
                throw ClientFailure.offline(error.localizedDescription)
            }
        }

        func receive() async throws -> String {
            do {
                // A receive ignores its task's cancellation.
                let message = try await withTaskCancellationHandler {
                    try await task.receive()
                } onCancel: {
                    task.cancel(with: .goingAway, reason: nil)
                }
                switch message {
                case .string(let text): return text
                case .data: throw ClientFailure.unreadable("the server sent bytes")
                @unknown default: throw ClientFailure.unreadable("the server sent neither text nor bytes")
                }
            } catch let failure as ClientFailure {
                throw failure
            } catch {
                try Task.checkCancellation()
                throw ClientFailure.offline(error.localizedDescription)
            }
        }

        func close() { task.cancel(with: .normalClosure, reason: nil) }
    }
#endif
