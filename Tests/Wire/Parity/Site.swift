import Foundation
import ParlorClient
import ParlorClientTesting
import ParlorLinuxWebSocket
import ParlorTesting

/// A server for a journey, with the transcript of what its clients see.
struct Site {
    let transcript = Transcript()
    let address: URL
    /// The network of a new device.
    let connect: () -> (http: any HTTPTransport, sockets: any SocketTransport)

    /// Returns the journey's transcript on ParlorClientTesting's server.
    static func scripted(_ journey: (Site) async throws -> Void) async throws -> [String] {
        let server = ScriptedServer(clock: TestClock())
        let site = Site(address: URL(filePath: "/socket.io/")) {
            let device = server.makeDevice()
            return (device, device)
        }
        try await journey(site)
        return site.transcript.lines
    }

    /// Returns the journey's transcript on a gateway with all services.
    static func real(_ journey: (Site) async throws -> Void) async throws -> [String] {
        var lines: [String] = []
        try await ParlorHarness.run { parlor in
            let host = "127.0.0.1:\(parlor.port)"
            guard let base = URL(string: "http://\(host)"),
                let address = URL(string: "ws://\(host)/socket.io/?EIO=4&transport=websocket")
            else { return }
            let site = Site(address: address) { (URLSessionTransport(base: base), WebSocketTransport()) }
            try await journey(site)
            lines = site.transcript.lines
        }
        return lines
    }

    /// Registers a new person, who is signed in.
    func visitor(_ name: String) async throws -> Visitor {
        let stranger = Visitor(site: self, name: name)
        let answer = try await stranger.call(
            "POST", "/api/auth/register", #"{"username":"\#(name)","password":"password-123"}"#)
        return Visitor(
            site: self, name: name, id: answer["data"]?["user"]?["id"]?.string,
            token: answer["data"]?["token"]?.string, refreshToken: answer["data"]?["refreshToken"]?.string)
    }

    /// Two people, and the id of a room of theirs.
    func pair() async throws -> (ada: Visitor, bob: Visitor, room: String) {
        let (ada, bob) = (try await visitor("ada"), try await visitor("bob"))
        let answer = try await ada.call("POST", "/api/rooms", #"{"otherUserId":"\#(bob.id ?? "")"}"#)
        return (ada, bob, answer["data"]?["id"]?.string ?? "")
    }
}
