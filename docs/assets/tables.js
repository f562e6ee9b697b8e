// GitHub needs `a\|b` in a table's code and shows a|b. The site's own Markdown shows the backslash, so it goes here.
for (const code of document.querySelectorAll("td code"))
  if (code.textContent.includes("\\|")) code.textContent = code.textContent.replaceAll("\\|", "|");
