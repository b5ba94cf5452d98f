import ParlorExample
import ParlorOperations
import ParlorServiceKit

await Program("parlor-example", "Short texts in rooms.", [.service(ExampleService.self), .operations]).run()
