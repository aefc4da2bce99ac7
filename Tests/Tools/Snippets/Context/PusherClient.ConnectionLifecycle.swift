var label = Label()
