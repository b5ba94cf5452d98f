import Foundation
import ParlorChat

exit(await ChatCommand.run(CommandLine.arguments.dropFirst()))
