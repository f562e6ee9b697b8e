"""`python -m reference`: write docs/reference/ anew."""

from bakeoff.foundation.errors import errors_in_one_line
from reference.pages import FOLDER, make_pages


def main() -> None:
    with errors_in_one_line():
        pages = make_pages()
        for name, text in pages.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"{len(pages)} pages: docs/{FOLDER.name}/")


if __name__ == "__main__":
    main()
