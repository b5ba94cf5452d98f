import Foundation
import ParlorChat
import ParlorSecurity

// The socket's thread may still be ending at exit.
Libcrypto.outlivesExit()
exit(await ChatCommand.run(CommandLine.arguments.dropFirst()))
