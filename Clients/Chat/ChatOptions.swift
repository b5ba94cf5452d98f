import Foundation

/// The parsed command line.
struct ChatOptions: Equatable {
    struct Malformed: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    var server = ChatOptions.localServer
    /// The folder of sessions, cached messages and unsent ones.
    var folder = ChatOptions.defaultFolder
    /// The account to use; nil for the last one.
    var username: String?
    var registers = false
    var signsOut = false
    /// True if signing out discards unsent messages.
    var discards = false
    var showsHelp = false

    static let usage = """
        parlor-chat [SERVER]     rooms and chats in a terminal

          SERVER            http://127.0.0.1:8080 by default
          --user NAME       the account: already signed in, or with a password from the prompt or
                            PARLOR_PASSWORD; by default the last account used
          --register        create the account first
          --sign-out        end the session of NAME, or of the last account used, and delete its stored rooms
          --discard         with --sign-out: delete unsent messages, too
          --data FOLDER     the folder of sessions and rooms (~/.parlor-chat)
          --help            show this text
        """

    private static var localServer: URL {
        guard let url = URL(string: "http://127.0.0.1:8080") else { preconditionFailure("this is a URL") }
        return url
    }

    private static var defaultFolder: URL {
        FileManager.default.homeDirectoryForCurrentUser.appending(path: ".parlor-chat", directoryHint: .isDirectory)
    }

    init(_ arguments: some Sequence<String>) throws(Malformed) {
        var rest = arguments.makeIterator()
        while let argument = rest.next() {
            switch argument {
            case "--help", "-h": showsHelp = true
            case "--register": registers = true
            case "--sign-out": signsOut = true
            case "--discard": discards = true
            case "--user":
                guard let name = rest.next(), !name.isEmpty else { throw Malformed(description: "--user needs a name") }
                username = name
            case "--data":
                guard let path = rest.next(), !path.isEmpty else {
                    throw Malformed(description: "--data needs a folder")
                }
                folder = URL(filePath: path, directoryHint: .isDirectory)
            default:
                guard !argument.hasPrefix("-") else { throw Malformed(description: "unknown option \(argument)") }
                guard let url = URL(string: argument), ["http", "https"].contains(url.scheme), url.host() != nil else {
                    throw Malformed(description: "no server's address: \(argument) (http://HOST:PORT)")
                }
                server = url
            }
        }
        if discards, !signsOut { throw Malformed(description: "--discard is for --sign-out") }
        if registers, username == nil { throw Malformed(description: "--register needs --user NAME") }
    }
}
