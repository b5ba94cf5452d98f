import SocketIO

/// An endpoint as it is served: one object for all the sockets that it has.
final class ServedEndpoint {
    let settings: EdgeEndpoint
    /// nil for plain WebSocket.
    let engine: EngineConfiguration?
    let socketIO: SocketIOConfiguration?

    init(_ settings: EdgeEndpoint) {
        self.settings = settings
        switch settings.content {
        case .engineIO(let engine): (self.engine, socketIO) = (engine, nil)
        case .socketIO(let engine, let socketIO): (self.engine, self.socketIO) = (engine, socketIO)
        case .webSocket: (engine, socketIO) = (nil, nil)
        }
    }

    func matches(_ path: String) -> Bool {
        path == settings.path || (settings.path.hasSuffix("/") && path + "/" == settings.path)
    }
}
