import Foundation

/// The command line.
struct ChatOptions: Equatable {
    struct Malformed: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    var server = ChatOptions.localServer
    /// Where the session, cached messages and what is not sent yet are kept.
    var folder = ChatOptions.defaultFolder
    /// Who signs in; nil: whoever did last, or who is asked for.
    var username: String?
    var registers = false
    var signsOut = false
    var showsHelp = false

    static let usage = """
        parlor-chat [SERVER]     rooms and chats in a terminal

          SERVER            http://127.0.0.1:8080 by default
          --user NAME       sign in as NAME; a password is asked for, or taken from PARLOR_PASSWORD
          --register        make the account first
          --sign-out        forget who is signed in, and what is kept of their rooms
          --data FOLDER     where that is kept (~/.parlor-chat)
          --help            this
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
        if registers, username == nil { throw Malformed(description: "--register needs --user NAME") }
    }
}
