import Reactor
import TestSupport
import Testing
import WebClient

/// Over HTTP/1.1, to servers of a few lines; HTTP/2 is met in Tests/Integration.
@Suite("Requests to other people's servers")
struct WebClientTests {
    @Test("nobody there is a failure, at once")
    func refused() async throws {
        let client = WebClient()
        let port = try ReservedPort()
        let answer = await client.send(
            WebRequest("http://127.0.0.1:\(port.port)/", body: [], timeout: .seconds(60)))
        guard case .failure(.connection) = answer else {
            Issue.record("\(answer)")
            return
        }
        await client.close()
    }

    @Test("what comes after the end is refused, and what was under way ends")
    func closing() async throws {
        let client = WebClient()
        let port = try ReservedPort()
        await client.close()
        let answer = await client.send(
            WebRequest("http://127.0.0.1:\(port.port)/", body: [], timeout: .seconds(60)))
        guard case .failure(.closed) = answer else {
            Issue.record("\(answer)")
            return
        }
    }

    @Test("nothing but the web is asked")
    func schemes() async {
        let client = WebClient()
        for url in ["file:///etc/passwd", "ftp://127.0.0.1/", "nonsense", ""] {
            let answer = await client.send(WebRequest(url, body: [], timeout: .seconds(60)))
            guard case .failure(.connection) = answer else {
                Issue.record("\(url): \(answer)")
                return
            }
        }
        await client.close()
    }
}
