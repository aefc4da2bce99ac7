let time: VirtualTime

init(_ time: VirtualTime) { self.time = time }
