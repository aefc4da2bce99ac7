var answer = ""
