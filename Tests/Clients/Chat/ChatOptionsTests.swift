import Foundation
import Testing

@testable import ParlorChat

@Suite("The command line of parlor-chat")
struct ChatOptionsTests {
    @Test("without arguments, the last account that signed in on this machine is used")
    func defaults() throws {
        let options = try ChatOptions([])
        #expect(options.server.absoluteString == "http://127.0.0.1:8080")
        #expect(options.username == nil && !options.registers && !options.showsHelp)
    }

    @Test("each option is parsed")
    func options() throws {
        let options = try ChatOptions(["http://parlor.test:1", "--user", "ada", "--register", "--data", "/tmp/x"])
        #expect(options.server.absoluteString == "http://parlor.test:1")
        #expect(options.username == "ada" && options.registers)
        #expect(options.folder.path(percentEncoded: false).hasPrefix("/tmp/x"))
        #expect(try ChatOptions(["-h"]).showsHelp)
        #expect(try ChatOptions(["--sign-out"]).signsOut)
        #expect(try ChatOptions(["--sign-out", "--discard"]).discards)
    }

    @Test(
        "an invalid option is named in the error",
        arguments: [
            ["--user"], ["--data"], ["--what"], ["parlor.test"], ["ftp://parlor.test"], ["--register"], ["http://"],
            ["--discard"],
        ])
    func malformed(arguments: [String]) {
        do throws(ChatOptions.Malformed) {
            _ = try ChatOptions(arguments)
            Issue.record("\(arguments) was taken")
        } catch {
            #expect(error.description.contains(arguments[0]))
        }
    }
}
