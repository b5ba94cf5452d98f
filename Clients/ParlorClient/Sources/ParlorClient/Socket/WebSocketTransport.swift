import Foundation

#if canImport(Darwin)
    /// Opens WebSockets with `URLSession`. It follows no redirects, as those would take the access token to another host.
    package struct WebSocketTransport: SocketTransport {
        private let session: URLSession
        private let owner: SessionOwner

        package init() {
            session = URLSession(configuration: .ephemeral, delegate: RedirectRefusal(), delegateQueue: nil)
            owner = SessionOwner(session)
        }

        /// Returns at once, before the connection exists. If connecting fails, the first `receive` throws the failure.
        package func connect(to url: URL) async throws -> any SocketConnection {
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
                // `receive` ignores the cancellation of its task, so the cancellation ends the WebSocket.
                let message = try await withTaskCancellationHandler {
                    try await task.receive()
                } onCancel: {
                    task.cancel(with: .goingAway, reason: nil)
                }
                switch message {
                case .string(let text): return text
                case .data: throw ClientFailure.unreadable("the server sent a binary message")
                @unknown default: throw ClientFailure.unreadable("the server sent a message of an unknown kind")
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
