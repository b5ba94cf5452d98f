import Foundation

/// The parsed command line.
struct ChatOptions: Equatable {
    struct Malformed: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    var server = ChatOptions.localServer
    /// The folder for sessions, unsent messages and board changes, and cached rooms, messages and elements.
    var folder = ChatOptions.defaultFolder
    /// The account to use; nil for the one that was used last.
    var username: String?
    var registers = false
    var signsOut = false
    /// True if signing out discards unsent messages and board changes.
    var discards = false
    var showsHelp = false

    static let usage = """
        parlor-chat [SERVER]     rooms and chats in a terminal

          SERVER            the server's address (default: http://127.0.0.1:8080)
          --user NAME       the account (default: the one that was used last). If it is not signed in,
                            the password comes from PARLOR_PASSWORD or a prompt
          --register        create the account NAME first
          --sign-out        end the account's session, and delete its data on this machine
          --discard         with --sign-out: delete unsent messages and board changes too
          --data FOLDER     the folder for sessions and rooms (default: ~/.parlor-chat)
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
                    throw Malformed(description: "\(argument) is not a server address such as http://HOST:PORT")
                }
                server = url
            }
        }
        if discards, !signsOut { throw Malformed(description: "--discard works only with --sign-out") }
        if registers, username == nil { throw Malformed(description: "--register needs --user NAME") }
    }
}
