import Chat
import Foundation

exit(await ChatCommand.run(CommandLine.arguments.dropFirst()))
