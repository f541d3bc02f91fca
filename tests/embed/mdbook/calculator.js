document.head.append(Object.assign(document.createElement("script"), { src: "https://calculator.example/embed.js" }));
