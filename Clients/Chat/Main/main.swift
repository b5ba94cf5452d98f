import Foundation
import ParlorChat

#if os(Linux)
    import ParlorSecurity

    // The socket's thread may still be ending at exit.
    Libcrypto.outlivesExit()
#endif
exit(await ChatCommand.run(CommandLine.arguments.dropFirst()))
