import ParlorWebSocket

/// A parser's outcome for some bytes: its events, and the error that ended them.
struct Outcome: Equatable {
    var events: [WebSocketEvent] = []
    var error: WebSocketError?

    /// Feeds the pieces one after the other, reading all events in between.
    init(
        feeding pieces: [ArraySlice<UInt8>], role: WebSocketParser.Role = .server, maxMessageBytes: Int = 100_000,
        maxSmallFragments: Int = 8
    ) {
        var parser = WebSocketParser(
            role: role, maxMessageBytes: maxMessageBytes, maxSmallFragments: maxSmallFragments)
        do throws(WebSocketError) {
            for piece in pieces {
                parser.append(piece)
                while let event = try parser.next() { events.append(event) }
            }
        } catch {
            self.error = error
        }
    }

    /// Parses frames from a client, as a server.
    init(_ frames: [UInt8]...) { self.init(feeding: [Array(frames.joined())[...]]) }
}

/// Returns a frame from a client.
func masked(_ opcode: WebSocketOpcode, _ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
    WebSocketFrame.encode(opcode, payload, isFinal: isFinal, mask: 0x37FA_213D)
}

func masked(_ opcode: WebSocketOpcode, _ text: String, isFinal: Bool = true) -> [UInt8] {
    masked(opcode, Array(text.utf8), isFinal: isFinal)
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
