"""What the documentation is built with: pages made from the packages, pictures, notebooks, formulas."""
