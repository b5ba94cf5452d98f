import Foundation
import ParlorClient

// client-journey URL: two people with the real library, on a real server. One of them is cut off
// again and again during her sends, and ends her app once. In the end both show what the server
// has. Prints a line, or the failure and exits with 1.
guard let argument = CommandLine.arguments.dropFirst().first, let server = URL(string: argument) else {
    print("client-journey URL")
    exit(2)
}
do {
    print(try await Journey(on: server).run())
} catch {
    print("client-journey: \(error)")
    exit(1)
}
