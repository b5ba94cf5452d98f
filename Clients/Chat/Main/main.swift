import Foundation
import ParlorChat
import ParlorClient

#if os(Linux)
    import ParlorLinuxWebSocket
#endif

exit(await ChatCommand.run(CommandLine.arguments.dropFirst(), webSockets: WebSocketTransport()))
