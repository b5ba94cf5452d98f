/// Why a request does not become a WebSocket, as the HTTP answer to give. The connection may go on after it.
public struct WebSocketRefusal: Error {
    /// 400 or 426.
    public let status: Int
    /// Fields that belong to the answer.
    public let headers: [(name: String, value: String)]
    /// For a developer to read; never a byte of the request.
    public let reason: String

    init(status: Int, headers: [(name: String, value: String)] = [], reason: String) {
        self.status = status
        self.headers = headers
        self.reason = reason
    }

    /// 426, with the protocol (RFC 9110, section 15.5.22) and the version (RFC 6455, section 4.4) to come back with.
    static func upgradeRequired(_ reason: String) -> WebSocketRefusal {
        WebSocketRefusal(
            status: 426, headers: [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")], reason: reason)
    }
}
