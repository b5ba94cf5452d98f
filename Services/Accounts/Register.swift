import Contracts
import ServiceKit

extension Accounts {
    /// `{username, password, firstName?, email?}` → a grant.
    func register(_ fields: RequestFields, by deadline: ContinuousClock.Instant? = nil) async throws -> Reply {
        let username = try Username(fields.string("username"))
        let password = try Password(fields.string("password"))
        let firstName = try fields.optionalString("firstName").map(FirstName.init)
        let email = try fields.optionalString("email").map(EmailAddress.init)

        let client = SigningClient(fields)
        let newcomer = AccountsDatabase.Newcomer(
            id: ids.next(at: clock.now().milliseconds), username: username, firstName: firstName, email: email,
            passwordHash: try await passwords.hash(password, for: client, by: deadline))
        let session = session(RefreshToken(randomness: randomness), client)
        switch try await database.register(newcomer, session) {
        case .usernameTaken: throw ServiceError(.usernameTaken, "This username belongs to someone already.")
        case .emailTaken: throw ServiceError(.emailTaken, "This e-mail address belongs to someone already.")
        case .done: break
        }
        let account = Account(
            id: newcomer.id, username: username.text, firstName: firstName?.text, email: email?.text)
        return Reply(.created, grant(account, session, id: session.publicID).json)
    }
}
