import CFuzzer
import Glibc

// FUZZ_TARGET=NAME parlor-fuzz [libFuzzer's flags] [CORPUS…]; without a name, it lists the targets.
// The target is in the environment because libFuzzer restarts itself with the same arguments when
// it merges corpora or minimises an input.
guard let target = Campaign.target else {
    for target in FuzzTarget.all { print(target.name, target.maxLength) }
    exit(getenv("FUZZ_TARGET") == nil ? 0 : 2)
}
atexit { Campaign.report() }
var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
exit(
    LLVMFuzzerRunDriver(&count, &arguments) { bytes, length in
        Campaign.run(Array(UnsafeBufferPointer(start: bytes, count: length)))
        return 0
    })
