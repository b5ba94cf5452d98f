/// A sequence of actions of people on a server.
enum Journey: String, CaseIterable, Sendable {
    case signingIn = "signing in"
    case rooms
    case groups
    case messages
    case reading
    case elements
    case badges
    case presence
    case recovery
    case errors
    case devices

    func run(on site: Site) async throws {
        switch self {
        case .signingIn: try await Self.signIn(site)
        case .rooms: try await Self.makeRooms(site)
        case .groups: try await Self.gather(site)
        case .messages: try await Self.write(site)
        case .reading: try await Self.read(site)
        case .elements: try await Self.arrange(site)
        case .badges: try await Self.count(site)
        case .presence: try await Self.meet(site)
        case .recovery: try await Self.comeBack(site)
        case .errors: try await Self.fail(site)
        case .devices: try await Self.registerDevices(site)
        }
    }

    static func signIn(_ site: Site) async throws {
        let ada = try await site.visitor("ada")
        let stranger = Visitor(site: site, name: "stranger")
        let register = "/api/auth/register"
        try await stranger.call("POST", register, #"{"username":"Ada","password":"password-123"}"#)
        try await stranger.call("POST", register, #"{"username":"a","password":"password-123"}"#)
        try await stranger.call("POST", register, #"{"username":"eve","password":"short"}"#)
        try await stranger.call("POST", register, #"{"username":"eve"}"#)
        try await stranger.call("POST", register, #"{"username":5,"password":"password-123"}"#)
        let eve =
            #"{"username":"eve","password":"password-123","firstName":"Eve","email":"eve@example.org"}"#
        try await stranger.call("POST", register, eve)
        try await stranger.call(
            "POST", register, #"{"username":"eva","password":"password-123","email":"EVE@example.org"}"#)
        try await stranger.call("POST", "/api/auth/login", #"{"username":"eve@example.org","password":"password-123"}"#)
        try await stranger.call("POST", "/api/auth/login", #"{"username":"ADA","password":"password-123"}"#)
        try await stranger.call("POST", "/api/auth/login", #"{"username":"ada","password":"another"}"#)
        try await stranger.call("POST", "/api/auth/login", #"{"username":"nobody","password":"password-123"}"#)
        try await stranger.call("GET", "/api/users/me")
        try await ada.call("GET", "/api/users/me")
        try await ada.call("GET", "/api/users/without-rooms")
        try await ada.call("GET", "/api/users/without-rooms?q=EV")
        let old = #"{"refreshToken":"\#(ada.refreshToken ?? "")"}"#
        let renewed = try await stranger.call("POST", "/api/auth/refresh", old)
        try await stranger.call("POST", "/api/auth/refresh", old)
        let revoked = renewed["data"]?["refreshToken"]?.string ?? ""
        try await stranger.call("POST", "/api/auth/refresh", #"{"refreshToken":"\#(revoked)"}"#)
        try await stranger.call("POST", "/api/auth/refresh", "{}")
        let session = try await stranger.call(
            "POST", "/api/auth/login", #"{"username":"ada","password":"password-123"}"#)
        let again = Visitor(
            site: site, name: "ada", token: session["data"]?["token"]?.string,
            refreshToken: session["data"]?["refreshToken"]?.string)
        let ended = #"{"refreshToken":"\#(again.refreshToken ?? "")"}"#
        try await again.call("POST", "/api/auth/logout", ended)
        try await stranger.call("POST", "/api/auth/refresh", ended)
    }

    static func makeRooms(_ site: Site) async throws {
        let (ada, bob, room) = try await site.pair()
        let carol = try await site.visitor("carol")
        let (adas, bobs) = (try await ada.phone(), try await bob.phone(in: room))
        try await ada.call("POST", "/api/rooms", #"{"otherUserId":"\#(carol.id ?? "")","name":" Plans "}"#)
        try await adas.event("room:created")
        try await adas.event("room:created:global")
        try await bobs.event("room:created:global")
        try await ada.call("POST", "/api/rooms", #"{"otherUserId":"\#(ada.id ?? "")"}"#)
        try await ada.call("POST", "/api/rooms", #"{"otherUserId":"00000000-0000-7000-8000-000000000001"}"#)
        try await ada.call("POST", "/api/rooms", "{}")
        for sort in ["", "?sort=activity", "?sort=messages", "?sort=content", "?sort=nonsense"] {
            try await ada.call("GET", "/api/rooms/my-rooms\(sort)")
        }
        try await ada.call("GET", "/api/rooms/grouped-by-person")
        try await bob.call("GET", "/api/rooms/my-rooms")
        try await ada.call("GET", "/api/users/without-rooms")
        try await bob.call("GET", "/api/users/without-rooms")
        try await ada.call("GET", "/api/rooms/\(room)")
        try await carol.call("GET", "/api/rooms/\(room)")
        try await ada.call("PUT", "/api/rooms/\(room)/name", #"{"name":"  Kitchen "}"#)
        try await bobs.event("room:updated")
        try await bobs.event("room:updated:global")
        try await ada.call("PUT", "/api/rooms/\(room)/name", #"{"name":"Kitchen"}"#)
        try await ada.call("PUT", "/api/rooms/\(room)/name", #"{"name":""}"#)
        try await bobs.event("room:updated")
        try await ada.call(
            "PUT", "/api/rooms/\(room)/name", #"{"name":"\#(String(repeating: "x", count: 101))"}"#)
        try await ada.call("PUT", "/api/rooms/\(room)/name", "{}")
        try await carol.call("PUT", "/api/rooms/\(room)/name", #"{"name":"Mine"}"#)
    }

    static func count(_ site: Site) async throws {
        let (ada, bob, room) = try await site.pair()
        let bobs = try await bob.phone()
        try await ada.call("POST", "/api/rooms/\(room)/elements", #"{"type":"note"}"#)
        try await ada.call("POST", "/api/rooms/\(room)/messages", #"{"text":"one"}"#)
        let second = try await ada.call("POST", "/api/rooms/\(room)/messages", #"{"text":"two"}"#)
        try await bob.call("GET", "/api/rooms/\(room)")
        try await ada.call("GET", "/api/rooms/\(room)")
        try await ada.call(
            "DELETE", "/api/rooms/\(room)/messages/\(second["data"]?["id"]?.string ?? "")")
        try await bobs.event("room:badges")
        try await bobs.ask("room:join", #"{"roomId":"\#(room)"}"#)
        try await bobs.event("room:badges")
        try await ada.call("POST", "/api/rooms/\(room)/elements", #"{"type":"note"}"#)
        try await bob.call("GET", "/api/rooms/my-rooms")
        try await bobs.ask("room:leave", #"{"roomId":"\#(room)"}"#)
        try await ada.call("POST", "/api/rooms/\(room)/elements", #"{"type":"note"}"#)
        try await ada.call("DELETE", "/api/rooms/\(room)/elements")
        try await bob.call("GET", "/api/rooms/\(room)")
    }

    static func meet(_ site: Site) async throws {
        let (ada, bob, room) = try await site.pair()
        let adas = try await ada.phone(in: room)
        try await adas.event("room:presence")
        let bobs = try await bob.phone(in: room)
        try await adas.event("room:presence")
        try await ada.call("GET", "/api/rooms/\(room)")
        let typing = #"{"roomId":"\#(room)","isTyping":true}"#
        try await bobs.ask("message:typing", typing)
        try await adas.event("message:typing")
        try await bobs.ask("message:typing", #"{"roomId":"\#(room)","isTyping":false}"#)
        try await adas.event("message:typing")
        try await bobs.ask("message:typing", typing)
        try await adas.event("message:typing")
        try await bobs.ask("message:send", #"{"roomId":"\#(room)","text":"done"}"#)
        try await adas.event("message:typing")
        try await bobs.ask("message:typing", #"{"roomId":"\#(room)"}"#)
        bobs.close()
        try await adas.event("room:presence")
        try await ada.call("GET", "/api/rooms/\(room)")
    }

    static func registerDevices(_ site: Site) async throws {
        let (ada, bob) = (try await site.visitor("ada"), try await site.visitor("bob"))
        let token = String(repeating: "0a", count: 32)
        let device = #"{"token":"\#(token)","platform":"ios","environment":"sandbox"}"#
        try await ada.call("POST", "/api/devices", device)
        try await ada.call("POST", "/api/devices", device)
        try await bob.call("POST", "/api/devices", device)
        try await ada.call("POST", "/api/devices", "{}")
        try await ada.call("DELETE", "/api/devices/\(token)")
        try await bob.call("DELETE", "/api/devices/\(token)")
        try await bob.call("DELETE", "/api/devices/\(token)")
    }
}
