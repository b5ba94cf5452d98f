import ParlorContracts
import ParlorEventLog
import ParlorReactor
import ParlorSecurity
import ParlorServiceKit
import ParlorStorage

/// The service's declaration, and its wiring.
public struct AccountsService: Service {
    public static let name = "accounts"

    static let tokenLifetime = Setting(
        "TOKEN_LIFETIME", .duration(.seconds(1)...LogPruning.age), default: "1h", in: .people,
        "Lifetime of an access token; it ends earlier if its session does")
    static let sessionLifetime = Setting(
        "SESSION_LIFETIME", .duration(.seconds(60) ... .seconds(366 * 86_400)), default: "60d", in: .people,
        "How long a session lasts if its client does not refresh its token")

    public static let settings: [any AnySetting] = [
        Setting.jwtSecretFile, tokenLifetime, sessionLifetime, Openness.emails, Openness.directory,
        Openness.registration,
    ]
    public static let migrations = AccountsSchema.migrations
    // Accounts of 0.2, which may be on the same bus, requests partners.
    public static let peer = BusPeer.service(name, requests: [Subject.partners, Subject.roommates])
    public static let log: LogContents = .endedSessions
    public static let limits = RateLimit.ofAccounts

    private let accounts: Accounts

    public init(_ context: ServiceContext) throws {
        let configuration = context.configuration
        let secretPath = configuration[.jwtSecretFile] ?? "\(context.dataDirectory)/jwt.secret"
        accounts = Accounts(
            database: context.database,
            passwords: PasswordChecker(context.workers, cost: .standard, randomness: context.randomness),
            tokens: TokenPolicy(
                key: .hs256(secret: try SecretFile.loadOrCreate(secretPath, randomness: context.randomness)),
                accessLifetime: configuration[Self.tokenLifetime],
                sessionLifetime: configuration[Self.sessionLifetime]),
            ids: context.ids, clock: context.clock, randomness: context.randomness,
            openness: Openness(
                emails: configuration[Openness.emails], directory: configuration[Openness.directory],
                registration: configuration[Openness.registration]),
            roommates: RoomsRoommates(bus: context.bus))
    }

    public func start(on loop: EventLoop) throws { accounts.renewKeys() }

    public func register(in requests: inout RequestTable) {
        let accounts = accounts
        requests.on(.register) { try await accounts.register($0.fields, by: $0.deadline) }
        requests.on(.login) { try await accounts.login($0.fields, by: $0.deadline) }
        requests.on(.refresh) { try await accounts.refresh($0.fields) }
        requests.on(.logout) { try await accounts.logout($0.fields) }
        requests.on(.changePassword) { try await accounts.changePassword($0.fields, $0.caller, by: $0.deadline) }
        requests.on(.sessions) { try await accounts.showSessions($0.fields, $0.caller) }
        requests.on(.endOtherSessions) { try await accounts.endOtherSessions($0.fields, $0.caller) }
        requests.on(.endSession) { try await accounts.endSession($0.fields, $0.caller) }
        requests.on(.me) { try await accounts.me($0.caller) }
        requests.on(.withoutRooms) { request in
            try await accounts.peopleWithoutRooms(request.fields, request.caller) { request.onward() }
        }
        requests.on(.liveSessions) { try await accounts.lookUpSessions($0.fields) }
        requests.on(.people) { try await accounts.lookUpPeople($0.fields) }
    }
}

extension Endpoint {
    fileprivate static let register = Endpoint("accounts.register")
        .route("POST", "/api/auth/register", needsLogin: false, limits: ["register"], wantsClient: true)
        .described(.register)
    fileprivate static let login = Endpoint("accounts.login")
        .route("POST", "/api/auth/login", needsLogin: false, limits: ["login", "sign_ins"], wantsClient: true)
        .described(.login)
    fileprivate static let refresh = Endpoint("accounts.refresh")
        .route("POST", "/api/auth/refresh", needsLogin: false, limits: ["refresh"], wantsClient: true)
        .described(.refresh)
    fileprivate static let logout = Endpoint("accounts.logout")
        .route("POST", "/api/auth/logout", needsLogin: false, limits: ["refresh"], wantsClient: true)
        .described(.logout)
    fileprivate static let changePassword = Endpoint("accounts.change-password")
        .route("POST", "/api/auth/password", limits: ["login", "sign_ins"], wantsClient: true)
        .described(.changePassword)
    fileprivate static let sessions = Endpoint("accounts.sessions")
        .route("GET", "/api/auth/sessions", limits: ["refresh"], wantsClient: true)
        .described(.sessions)
    fileprivate static let endOtherSessions = Endpoint("accounts.end-other-sessions")
        .route("DELETE", "/api/auth/sessions", limits: ["refresh"], wantsClient: true)
        .described(.endOtherSessions)
    fileprivate static let endSession = Endpoint("accounts.end-session")
        .route("DELETE", "/api/auth/sessions/:id", limits: ["refresh"], isConfidential: true)
        .described(.endSession)
    fileprivate static let me = Endpoint("accounts.me").route("GET", "/api/users/me", shows: .people)
        .described(.me)
    fileprivate static let withoutRooms = Endpoint("accounts.without-rooms").route(
        "GET", "/api/users/without-rooms", shows: .people, isHeavy: true
    )
    .described(.withoutRooms)

    // For other services.
    fileprivate static let people = Endpoint(Subject.people)
    fileprivate static let liveSessions = Endpoint(Subject.liveSessions)
}

/// People, their passwords and their sessions. The files with its extensions have the use cases.
struct Accounts: Sendable {
    let database: any Database
    let passwords: PasswordChecker
    let tokens: TokenPolicy
    let ids: UUIDv7Generator
    let clock: any WallClock
    let randomness: any Randomness
    let openness: Openness
    let roommates: any RoommateDirectory

    /// Returns a session that begins or continues, with its next token.
    ///
    /// - Parameter time: the time at which it begins or continues; now by default.
    func session(_ token: RefreshToken, _ client: SigningClient, at time: Timestamp? = nil) -> NewSession {
        let now = time ?? clock.now()
        return NewSession(
            token: token, publicID: ids.next(at: now.milliseconds), now: now,
            expiry: now.adding(tokens.sessionLifetime), tokensUntil: tokens.accessExpiry(at: now), client: client)
    }

    /// - Parameter id: the session's public id.
    func grant(_ account: Account, _ session: NewSession, id: String) -> Grant {
        Grant(
            account: account, token: tokens.accessToken(for: account, inSession: id, at: session.now),
            expiry: session.tokensUntil, refreshToken: session.token)
    }
}
