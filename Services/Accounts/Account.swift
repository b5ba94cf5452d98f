import Contracts

/// A person as this service knows them.
struct Account: Sendable {
    let id: String
    let username: String
    let firstName: String?
    let email: String?

    /// As the person sees oneself, or as one who may see the address does.
    var person: Person { Person(id: id, username: username, firstName: firstName, email: email) }

    var personWithoutEmail: Person { Person(id: id, username: username, firstName: firstName, email: nil) }
}
