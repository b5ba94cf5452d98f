import ParlorReactor
import ParlorTestSupport
import ParlorWebClient
import Testing

/// Over HTTP/1.1, to servers of a few lines; HTTP/2 is met in Tests/System/Integration.
@Suite("Requests to other people's servers", .timeLimit(.minutes(1)))
struct WebClientTests {
    @Test("a refused connection is a failure, at once")
    func refused() async throws {
        let client = try WebClient()
        let port = try ReservedPort()
        let answer = await client.send(
            WebRequest("http://127.0.0.1:\(port.port)/", body: [], timeout: .seconds(60)))
        guard case .failure(.connection) = answer else {
            Issue.record("\(answer)")
            return
        }
        await client.close()
    }

    /// Returns a request's outcome: `answer`, or the failure.
    private func outcome(
        _ client: WebClient, _ server: PlainServer, timeout: Duration = .seconds(60)
    ) async -> WebFailure? {
        switch await client.send(WebRequest(server.url, body: [], timeout: timeout)) {
        case .success: nil
        case .failure(let failure): failure
        }
    }

    @Test("requests after the end are refused, and those in progress end")
    func closing() async throws {
        let client = try WebClient()
        let server = try PlainServer()
        // More than are in progress at once.
        let tasks = (1...2 * WebClient.maxInFlight).map { _ in Task { await outcome(client, server) } }
        // However many of them it was asked for by then.
        await client.close()
        for task in tasks { #expect(await task.value == .closed) }
        #expect(await outcome(client, server) == .closed)
    }

    @Test("a request's time begins with its turn, and one that waits too long for it is not sent")
    func turns() async throws {
        let client = try WebClient()
        let server = try PlainServer()
        let failures = await withTaskGroup(of: WebFailure?.self) { group in
            for _ in 1...2 * WebClient.maxInFlight {
                group.addTask { await outcome(client, server, timeout: .milliseconds(300)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(failures.allSatisfy { $0 == .timeout || $0 == .busy } && failures.contains(.busy))
        await client.close()
    }

    @Test("by default a server gets one connection, and requests wait for their turn on it")
    func connections() async throws {
        let client = try WebClient()
        // It serves one connection at a time, so a second one would get no answer.
        let server = try PlainServer(answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let tasks = (1...8).map { _ in Task { await outcome(client, server, timeout: .seconds(20)) } }
        for task in tasks { #expect(await task.value == nil) }
        await client.close()
    }

    @Test("an answer has a size limit")
    func longResponse() async throws {
        let client = try WebClient()
        let body = String(repeating: "x", count: 64 * 1024)
        let server = try PlainServer(answer: "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        #expect(await outcome(client, server) == nil)
        let longer = try PlainServer(
            answer: "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count + 1)\r\n\r\n\(body)x")
        guard case .connection = await outcome(client, longer) else {
            Issue.record("the long answer was accepted")
            return
        }
        await client.close()
    }

    @Test(
        "a server's Retry-After is read in seconds or as a date",
        arguments: [
            ("Retry-After: 7\r\n", Duration.seconds(7)...(.seconds(7))),
            ("Retry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\n", .seconds(3600)...(.seconds(3_000_000_000))),
        ])
    func retryAfter(header: String, range: ClosedRange<Duration>) async throws {
        let client = try WebClient()
        let server = try PlainServer(answer: "HTTP/1.1 503 Busy\r\n\(header)Content-Length: 0\r\n\r\n")
        let response = try await client.send(WebRequest(server.url, body: [], timeout: .seconds(60))).get()
        #expect(response.retryAfter.map(range.contains) == true)
        await client.close()
    }

    @Test(
        "a past date, another text or an empty one asks for nothing",
        arguments: [
            "", "Retry-After: soon\r\n",
            "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", "Retry-After: -5\r\n",
        ])
    func noRetryAfter(header: String) async throws {
        let client = try WebClient()
        let server = try PlainServer(answer: "HTTP/1.1 503 Busy\r\n\(header)Content-Length: 0\r\n\r\n")
        let response = try await client.send(WebRequest(server.url, body: [], timeout: .seconds(60))).get()
        #expect(response.status == 503 && response.retryAfter == nil)
        await client.close()
    }

    @Test("only web addresses are requested")
    func schemes() async throws {
        let client = try WebClient()
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
