import Example
import Operations
import ServiceKit

await Program("parlor-example", "Short texts in rooms.", [.service(ExampleService.self), .operations]).run()
