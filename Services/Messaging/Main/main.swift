import Messaging
import ServiceKit

await Program("parlor-messaging", "Messages and who has read them.", [.service(MessagingService.self)]).run()
