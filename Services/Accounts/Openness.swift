import ParlorServiceKit

/// What the service shows and permits to people who know nobody: its settings of that kind. The defaults are what existing clients
/// expect.
struct Openness: Sendable {
    var emails = EmailVisibility.everyone
    var directory = Directory.everyone
    var registration = Registration.open

    static let emails = Setting(
        "EMAIL_VISIBILITY", .choice(EmailVisibility.self), default: "everyone", in: .people,
        "Who can see other people's e-mail addresses: everyone, shared (people who share a room) or nobody")
    static let directory = Setting(
        "DIRECTORY", .choice(Directory.self), default: "everyone", in: .people,
        "Who is found among people without a shared room: everyone, exact (by a whole username or e-mail address) or off"
    )
    static let registration = Setting(
        "REGISTRATION", .choice(Registration.self), default: "open", in: .people,
        "Whether people may create an account: open or closed")
}

/// The people who see others' e-mail addresses: the setting `EMAIL_VISIBILITY`. One's own is always
/// shown.
enum EmailVisibility: String, Sendable, CaseIterable {
    case everyone
    /// People one shares a room with.
    case shared
    case nobody
}

/// The people who are found by others that share no room with them: the setting `DIRECTORY`.
enum Directory: String, Sendable, CaseIterable {
    case everyone
    /// The person with a username or an e-mail address, for whoever knows all of it.
    case exact
    case off
}

/// Whether people may create an account: the setting `REGISTRATION`.
enum Registration: String, Sendable, CaseIterable {
    case open, closed
}
